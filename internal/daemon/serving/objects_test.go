package serving

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// ask sends a request as a user. If who is nil, the request has no user.
func ask(t *testing.T, h http.Handler, request string, who user.Info) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if who != nil {
		r = r.WithContext(apirequest.WithUser(r.Context(), who))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestMemoryOfAnObject(t *testing.T) {
	admin := &user.DefaultInfo{Name: "admin", Groups: []string{user.AllAuthenticated}}
	h := newObjectsHandler(func(kind, key string) (any, bool) {
		switch kind + " " + key {
		case "node a", "service shop/web", "route 10.0.0.0/24":
			return []string{key + "\x1b"}, true
		case "node elsewhere":
			return nil, false
		}
		return nil, true
	}, "v1")
	for name, row := range map[string]struct {
		method, path string
		who          user.Info
		status       int
		body         string
	}{
		"Node":                {"GET", "node/a", admin, 200, `{"version":"v1","kind":"node","key":"a","controllers":["a\u001b"]}`},
		"KeyOfAService":       {"GET", "service/shop/web", admin, 200, `"key":"shop/web"`},
		"KeyOfARoute":         {"GET", "route/10.0.0.0/24", admin, 200, `"key":"10.0.0.0/24"`},
		"NothingIsRemembered": {"GET", "node/b", admin, 404, "no controller remembers"},
		"ReplicaDoesNotLead":  {"GET", "node/elsewhere", admin, 503, "no controllers run"},
		"NoKey":               {"GET", "node", admin, 400, "KIND/KEY"},
		"LongKey":             {"GET", "node/" + strings.Repeat("a", maxObjectBytes), admin, 400, "KIND/KEY"},
		"OnlyReads":           {"POST", "node/a", admin, 405, "only GET"},
		"Anonymous":           {"GET", "node/a", &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}, 403, "authenticated"},
		"RequestWithoutAUser": {"GET", "node/a", nil, 403, "authenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, h, row.method+" "+step.MemoryPath+row.path, row.who)
			if got.Code != row.status || !strings.Contains(got.Body.String(), row.body) {
				t.Errorf("got %d: %s, want %d and %s", got.Code, got.Body, row.status, row.body)
			}
		})
	}
}

func TestMemoryIsReadByFewAtOnce(t *testing.T) {
	admin := &user.DefaultInfo{Name: "admin"}
	var h *objectsHandler
	depth := 0
	h = newObjectsHandler(func(string, string) (any, bool) {
		depth++
		n := depth
		if n > objectsAtOnce {
			return []string{}, true
		}
		got := ask(t, h, "GET "+step.MemoryPath+"node/a", admin) // a second request, while the first is being answered
		if isFull := n == objectsAtOnce; isFull != (got.Code == 429) || isFull != (got.Header().Get("Retry-After") != "") {
			t.Errorf("request %d at once: %d", n+1, got.Code)
		}
		return []string{}, true
	}, "")
	if got := ask(t, h, "GET "+step.MemoryPath+"node/a", admin); got.Code != 200 {
		t.Errorf("got %d", got.Code)
	}
	if got := ask(t, h, "GET "+step.MemoryPath+"node/a", admin); got.Code != 200 || len(h.places) != 0 {
		t.Errorf("after that: %d, %d places taken", got.Code, len(h.places))
	}
}

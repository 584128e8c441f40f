package clusterview

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// ask sends a request to the server.
func ask(t *testing.T, s *Server, method, url string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const here = "http://127.0.0.1:4242/"

func TestViewIsServed(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	s := New(clock)
	if w := ask(t, s, http.MethodGet, here); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "not ready yet") {
		t.Errorf("before there is a cluster: %d %s", w.Code, w.Body)
	}
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	s.Show(client)
	names := func() (all []string) {
		w := ask(t, s, http.MethodGet, here)
		var v View
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		for _, n := range v.Nodes {
			all = append(all, n.Name)
		}
		return all
	}
	diff(t, []string{"node-1"}, names())
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	diff(t, []string{"node-1"}, names()) // the last view is still fresh
	clock.SetTime(now.Add(time.Second))
	diff(t, []string{"node-1", "node-2"}, names())

	for _, kind := range []string{"nodes", "services", "events", "leases"} {
		clock.SetTime(clock.Now().Add(time.Second))
		broken := fake.NewClientset()
		broken.PrependReactor("*", kind, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no " + kind)
		})
		s.Show(broken)
		if w := ask(t, s, http.MethodGet, here); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no "+kind) {
			t.Errorf("without %s: %d %s", kind, w.Code, w.Body)
		}
	}
}

func TestOnlyProgramsOnThisMachineAreAnswered(t *testing.T) {
	s := New(clocktesting.NewFakePassiveClock(now))
	s.Show(fake.NewClientset())
	for name, row := range map[string]struct {
		method, url string
		headers     []string
		want        int
	}{
		"Program":                {http.MethodGet, here, nil, http.StatusOK},
		"IPv6":                   {http.MethodGet, "http://[::1]:4242/", nil, http.StatusOK},
		"NameOfAWebsite":         {http.MethodGet, "http://rebound.example:4242/", nil, http.StatusForbidden},
		"AddressOfTheNetwork":    {http.MethodGet, "http://192.0.2.1:4242/", nil, http.StatusForbidden},
		"ScriptOfAWebsite":       {http.MethodGet, here, []string{"Origin", "http://elsewhere.example"}, http.StatusForbidden},
		"BrowserForAWebsite":     {http.MethodGet, here, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"ChangesAreNotPossible":  {http.MethodPost, here, nil, http.StatusNotFound},
		"DeletionIsNotPossible":  {http.MethodDelete, here, nil, http.StatusNotFound},
		"NothingElseIsServed":    {http.MethodGet, here + "api", nil, http.StatusNotFound},
		"NoPathOfTheAPIIsServed": {http.MethodGet, here + "api/v1/namespaces/kube-system/secrets", nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if w := ask(t, s, row.method, row.url, row.headers...); w.Code != row.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, row.want)
			}
		})
	}
}

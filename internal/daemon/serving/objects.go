package serving

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// Objects is a function that returns what the controllers remember about an object. It
// returns nil if they remember nothing. The second result reports whether the
// controllers run in this process. The function must be fast, do no I/O and change
// nothing.
type Objects func(kind, key string) (remembered any, leads bool)

const (
	// objectsAtOnce is the maximum number of requests to this page that are answered
	// at once. Each request takes locks that the controllers also need.
	objectsAtOnce = 2
	// maxObjectBytes is the maximum length of a kind and a key together. A Service's
	// namespace and name are shorter.
	maxObjectBytes = 512
)

// objectsHandler answers requests for what the controllers remember about an object.
// The server has authenticated and authorized these requests.
type objectsHandler struct {
	objects Objects
	version string
	places  chan struct{}
}

func newObjectsHandler(objects Objects, version string) *objectsHandler {
	return &objectsHandler{objects, version, make(chan struct{}, objectsAtOnce)}
}

// objectMemory is the answer of objectsHandler.
type objectMemory struct {
	Version     string `json:"version,omitempty"`
	Kind        string `json:"kind"`
	Key         string `json:"key"`
	Controllers any    `json:"controllers"`
}

// ServeHTTP implements http.Handler.
func (h *objectsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if who, ok := request.UserFrom(r.Context()); !ok || slices.Contains(who.GetGroups(), user.AllUnauthenticated) || who.GetName() == user.Anonymous {
		// An RBAC rule might allow everybody to read all paths below /debug, but
		// this path shows messages about all Services.
		http.Error(w, "only authenticated users may read this", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	kind, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, step.MemoryPath), "/")
	if kind == "" || key == "" || len(kind)+len(key) > maxObjectBytes {
		http.Error(w, "want "+step.MemoryPath+"KIND/KEY", http.StatusBadRequest)
		return
	}
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many such requests at once", http.StatusTooManyRequests)
		return
	}
	what, leads := h.objects(kind, key)
	switch {
	case !leads:
		http.Error(w, "no controllers run in this replica", http.StatusServiceUnavailable)
	case what == nil:
		http.Error(w, "no controller remembers anything about this object", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		// An error here means that the caller has closed the connection.
		_ = json.NewEncoder(printable.JSON(w)).Encode(objectMemory{h.version, kind, key, what})
	}
}

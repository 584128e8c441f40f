package proxy

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Past makes the proxy show one collection of the API server as it was, as an API server
// does whose watch cache lags. Lists of all objects have the state at the version, and
// watches report nothing. A request for a single object, also a list that selects one by
// its name, has the present state. Watches that have begun earlier go on.
//
// The collection is a path, for example /api/v1/services. The API server keeps old
// versions for some minutes. Past lasts until end is called: then watches end, and their
// clients begin new ones.
func (p *Proxy) Past(collection, version string) (end func()) {
	v := &past{collection: collection, version: version, over: make(chan struct{})}
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.book.past = v
	return sync.OnceFunc(func() {
		p.book.mu.Lock()
		defer p.book.mu.Unlock()
		p.book.past = nil
		close(v.over)
	})
}

// past is what Past was called with.
type past struct {
	collection, version string
	over                chan struct{} // closed at the end
}

// concerns reports whether the request is answered from the past.
func (v *past) concerns(r *http.Request) bool {
	return v != nil && r.Method == http.MethodGet && r.URL.Path == v.collection && !r.URL.Query().Has("fieldSelector")
}

// serve answers a request from the past.
func (v *past) serve(w http.ResponseWriter, r *http.Request, forward *httputil.ReverseProxy) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true": // The client then makes a list instead.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		})
	case query.Get("watch") == "true", query.Get("watch") == "1":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-v.over:
		case <-r.Context().Done():
		}
	default:
		query.Set("resourceVersion", v.version)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
		forward.ServeHTTP(w, r)
	}
}

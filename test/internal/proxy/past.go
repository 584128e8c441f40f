package proxy

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Past makes the proxy show collections of the API server as they were at a version, as an
// API server does whose watch cache lags and that streams no lists. Lists that accept any
// version have the old state, and watches report nothing. All other requests have the
// present state. Watches that have begun earlier go on.
//
// A collection is a path, for example /api/v1/services. The API server keeps old versions
// for some minutes. Past lasts until end is called: then watches end, and their clients
// begin new ones.
func (p *Proxy) Past(version string, collections ...string) (end func()) {
	v := &past{collections: collections, version: version, over: make(chan struct{})}
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
	collections []string
	version     string
	over        chan struct{} // closed at the end
}

// concerns reports whether the request is answered from the past.
func (v *past) concerns(r *http.Request) bool {
	query := r.URL.Query()
	return v != nil && r.Method == http.MethodGet && slices.Contains(v.collections, r.URL.Path) && (isWatch(r) || query.Get("resourceVersion") == "0")
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
	case isWatch(r):
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

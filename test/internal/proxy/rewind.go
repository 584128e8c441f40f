package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rewind makes the proxy show one object as if the storage of the API server had been
// restored from a backup: its resourceVersion is lower by a number in all answers, and
// updates that are based on a version from before conflict. The object is a path. Its
// client has to speak JSON.
func (p *Proxy) Rewind(object string, by int) {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.book.rewound = &rewound{object: object, by: by}
}

// rewound is what Rewind was called with.
type rewound struct {
	object string
	by     int
}

// serve answers a request for the object.
func (v *rewound) serve(w http.ResponseWriter, r *http.Request, forward *httputil.ReverseProxy) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // The sender has not sent the whole body.
	}
	body = moved(body, v.by)
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Accept-Encoding")
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(moved(answer.Body.Bytes(), -v.by))
}

// moved returns the object in JSON with a higher resourceVersion. What is no object stays
// as it is.
func moved(body []byte, by int) []byte {
	var object unstructured.Unstructured
	if json.Unmarshal(body, &object.Object) != nil {
		return body
	}
	version, err := strconv.Atoi(object.GetResourceVersion())
	if err != nil {
		return body
	}
	object.SetResourceVersion(strconv.Itoa(version + by))
	changed, err := json.Marshal(object.Object)
	if err != nil {
		return body
	}
	return changed
}

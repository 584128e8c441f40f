package daemon

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// moment is the duration of a request. It is not 0, so that the trace shows a request
// before the effects of its answer. Entries of the trace with the same time have no
// defined order.
const moment = 10 * time.Millisecond

// apiServer is an in-memory API server, and also the HTTP transport of its clients.
// It stores Nodes and Services, and traces all requests. It is meant for use in
// testing/synctest.
type apiServer struct {
	t     *testing.T
	trace *trace

	mu      sync.Mutex
	objects map[string]runtime.Object        // by the path of the object; guarded by mu
	watches map[string][]chan apiwatch.Event // by the path of the collection; guarded by mu
	version int                              // guarded by mu
}

func newAPIServer(t *testing.T, tr *trace) *apiServer {
	return &apiServer{t: t, trace: tr, objects: map[string]runtime.Object{}, watches: map[string][]chan apiwatch.Event{}}
}

// place has the parts of a request's path.
type place struct{ collection, object, namespace, name string }

func placeOf(path string) place {
	parts := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	p := place{}
	if parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.collection = parts[0]
	if len(parts) > 1 {
		p.name = parts[1]
	}
	p.object = p.collection + "/" + p.namespace + "/" + p.name
	return p
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	a.trace.note("%s", requestLine(r, body))
	time.Sleep(moment)
	at := placeOf(r.URL.Path)
	if r.Method == http.MethodGet && r.URL.Query().Has("watch") {
		return answer(r, http.StatusOK, a.watch(r, at.collection)), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	current, exists := a.objects[at.object]
	switch {
	case at.collection == "events": // Events are only traced.
		return answer(r, http.StatusCreated, io.NopCloser(bytes.NewReader(body))), nil
	case at.collection == "services" && r.URL.Query().Has("fieldSelector"):
		_, at.name, _ = strings.Cut(r.URL.Query().Get("fieldSelector"), "=")
		return a.services(r, at), nil
	case r.Method == http.MethodGet && at.name == "":
		return failure(r, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed), nil // Informers stream their lists, so no list request is expected.
	case !exists:
		return failure(r, http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case r.Method == http.MethodDelete:
		a.remove(at)
	case r.Method == http.MethodPatch:
		changed, err := a.patched(at, current, types.PatchType(r.Header.Get("Content-Type")), body)
		if err != nil {
			a.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			return failure(r, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
		}
		current = a.store(at, changed)
	}
	return answer(r, http.StatusOK, io.NopCloser(bytes.NewReader(encoded(a.t, current)))), nil
}

// services answers a list request that selects a Service by its name. The caller holds mu.
func (a *apiServer) services(r *http.Request, at place) *http.Response {
	found := &corev1.ServiceList{}
	if service, ok := a.objects["services/"+at.namespace+"/"+at.name].(*corev1.Service); ok {
		found.Items = append(found.Items, *service)
	}
	return answer(r, http.StatusOK, io.NopCloser(bytes.NewReader(encoded(a.t, found))))
}

func answer(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Request: r, Body: body, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}}
}

func failure(r *http.Request, code int32, reason metav1.StatusReason) *http.Response {
	status, _ := json.Marshal(metav1.Status{ // Encoding a Status never fails.
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
	})
	return answer(r, int(code), io.NopCloser(bytes.NewReader(status)))
}

func encoded(t *testing.T, obj runtime.Object) []byte {
	data, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Error(err)
	}
	return data
}

// patched returns the object after a patch.
func (*apiServer) patched(at place, current runtime.Object, kind types.PatchType, patch []byte) (runtime.Object, error) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	if err := tracker.Add(current); err != nil {
		return nil, err
	}
	action := clienttesting.NewPatchAction(corev1.SchemeGroupVersion.WithResource(at.collection), at.namespace, at.name, kind, patch)
	_, changed, err := clienttesting.ObjectReaction(tracker)(action)
	return changed, err
}

// store writes an object with a new version. If the object is being deleted and
// has no finalizer any more, store removes it instead. The caller holds mu.
func (a *apiServer) store(at place, obj runtime.Object) runtime.Object {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		a.t.Error(err)
		return obj
	}
	if accessor.GetDeletionTimestamp() != nil && len(accessor.GetFinalizers()) == 0 {
		a.remove(at)
		return obj
	}
	happened := apiwatch.Modified
	if _, exists := a.objects[at.object]; !exists {
		happened = apiwatch.Added
	}
	a.version++
	accessor.SetResourceVersion(strconv.Itoa(a.version))
	a.objects[at.object] = obj
	a.tell(at, happened, obj)
	return obj
}

// remove deletes an object. The caller holds mu.
func (a *apiServer) remove(at place) {
	a.tell(at, apiwatch.Deleted, a.objects[at.object])
	delete(a.objects, at.object)
}

func (a *apiServer) tell(at place, happened apiwatch.EventType, obj runtime.Object) {
	for _, events := range a.watches[at.collection] {
		events <- apiwatch.Event{Type: happened, Object: obj.DeepCopyObject()}
	}
}

// write changes an object, as a client other than the daemon does. If the object does
// not exist, write creates it.
func write[T any, P interface {
	*T
	runtime.Object
}](a *apiServer, path string, edit func(P)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := placeOf(path)
	obj := P(new(T))
	if current, exists := a.objects[at.object]; exists {
		obj = current.DeepCopyObject().(P)
	}
	edit(obj)
	a.store(at, obj)
}

// has reports whether the object exists.
func (a *apiServer) has(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, exists := a.objects[placeOf(path).object]
	return exists
}

// watch streams all objects of a collection, then a bookmark, then the changes of
// the objects, until the request ends.
func (a *apiServer) watch(r *http.Request, collection string) io.ReadCloser {
	a.mu.Lock()
	defer a.mu.Unlock()
	events := make(chan apiwatch.Event, 1000)
	for _, path := range sortedKeys(a.objects) {
		if strings.HasPrefix(path, collection+"/") {
			events <- apiwatch.Event{Type: apiwatch.Added, Object: a.objects[path].DeepCopyObject()}
		}
	}
	bookmark := metav1.ObjectMeta{ResourceVersion: strconv.Itoa(a.version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
	var end runtime.Object = &corev1.Node{ObjectMeta: bookmark}
	if collection == "services" {
		end = &corev1.Service{ObjectMeta: bookmark}
	}
	events <- apiwatch.Event{Type: apiwatch.Bookmark, Object: end}
	a.watches[collection] = append(a.watches[collection], events)
	reader, writer := io.Pipe()
	go func() {
		for {
			select {
			case e := <-events:
				frame, _ := json.Marshal(metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: encoded(a.t, e.Object)}})
				_, _ = writer.Write(frame) // Write fails only after the end of the request.
			case <-r.Context().Done():
				_ = writer.CloseWithError(r.Context().Err())
				return
			}
		}
	}()
	return reader
}

// requestLine describes a request without the parts that differ from run to run.
func requestLine(r *http.Request, body []byte) string {
	query := url.Values{}
	for key, values := range r.URL.Query() {
		switch key {
		case "timeout", "timeoutSeconds", "resourceVersion":
		default:
			query[key] = values
		}
	}
	line := r.Method + " " + eventName.ReplaceAllString(r.URL.Path, "$1")
	if len(query) > 0 {
		line += "?" + query.Encode()
	}
	if len(body) == 0 {
		return line
	}
	if r.Method == http.MethodPatch {
		line += " " + r.Header.Get("Content-Type")
	}
	return line + "\n    " + normalised(body)
}

package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// If the API server can stream a list, the informer does not request an ordinary list.
// So neither the API server nor the daemon needs memory for a second copy of all Nodes.
// If the API server cannot stream a list, the informer requests an ordinary one, which
// must not be older than the request.
func TestNodesAreStreamedWhereTheAPIServerCan(t *testing.T) {
	for name, streams := range map[string]bool{"Streams": true, "CannotStream": false} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
			}
			var lists atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				send := func(obj any) { _ = json.NewEncoder(w).Encode(obj) } // Encode fails only if the client has disconnected.
				switch q := r.URL.Query(); {
				case q.Get("watch") == "":
					lists.Add(1)
					if q.Has("resourceVersion") || q.Has("limit") {
						t.Errorf("the list of %s may be old, or comes in parts", r.URL)
					}
					send(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Node{*node}})
					return
				case q.Get("sendInitialEvents") == "true" && !streams:
					refusal := apierrors.NewInvalid(schema.GroupKind{}, "", nil).Status()
					w.WriteHeader(http.StatusUnprocessableEntity)
					send(refusal)
					return
				case q.Get("sendInitialEvents") == "true":
					send(map[string]any{"type": "ADDED", "object": node})
					end := node.DeepCopy()
					end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
					send(map[string]any{"type": "BOOKMARK", "object": end})
				}
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			factory := NewInformerFactory(client, 0, nil)
			informer := factory.Core().V1().Nodes().Informer()
			factory.StartWithContext(t.Context())
			defer server.CloseClientConnections()
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("the informer is not in sync")
			}
			cached, exists, err := informer.GetStore().GetByKey("n")
			if !exists || err != nil || len(cached.(*corev1.Node).ManagedFields) > 0 {
				t.Errorf("cached %v, error %v, want the Node without managed fields", cached, err)
			}
			if got := lists.Load() == 0; got != streams {
				t.Errorf("%d lists", lists.Load())
			}
		})
	}
}

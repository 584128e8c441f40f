package frame

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func named(name, version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(named("a", "1"))
		factory := informers.NewSharedInformerFactory(client, 0)
		informer := factory.Core().V1().Services().Informer()
		var got []string
		known, stop, err := Watch(informer, "services", func(key string, before, now *corev1.Service) {
			got = append(got, fmt.Sprintf("%s before=%t now=%t", key, before != nil, now != nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		if known() {
			t.Error("all objects are known before they were listed")
		}
		factory.Start(t.Context().Done())
		if !cache.WaitForCacheSync(t.Context().Done(), known) {
			t.Fatal("the objects are never known")
		}
		services := client.CoreV1().Services("ns")
		if _, err := services.Update(t.Context(), named("a", "2"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := services.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		time.Sleep(time.Second)
		if _, err := services.Create(t.Context(), named("b", "3"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"ns/a before=false now=true", "ns/a before=true now=true", "ns/a before=true now=false"}, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

// If the informer has missed the deletion of an object, it knows at least its key.
func TestWatchOfAMissedDeletion(t *testing.T) {
	var deleted cache.ResourceEventHandler
	informer := handled{add: func(h cache.ResourceEventHandler) { deleted = h }}
	var got []string
	if _, _, err := Watch(informer, "services", func(key string, before, now *corev1.Service) {
		got = append(got, fmt.Sprintf("%s before=%t now=%t", key, before != nil, now != nil))
	}); err != nil {
		t.Fatal(err)
	}
	deleted.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: named("a", "1")})
	deleted.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/b"})
	if diff := cmp.Diff([]string{"ns/a before=true now=false", "ns/b before=false now=false"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// handled is an informer that only takes a handler.
type handled struct {
	cache.SharedInformer

	add func(cache.ResourceEventHandler)
}

func (h handled) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h.add(handler)
	return registration{}, nil
}

type registration struct {
	cache.ResourceEventHandlerRegistration
}

func (registration) HasSynced() bool { return true }

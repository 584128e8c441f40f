package kube

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// bulky returns a Service with as much text as a tenant can write into it.
func bulky(name string, serviceType corev1.ServiceType, finalizers ...string) *corev1.Service {
	much := strings.Repeat("x", 200<<10)
	var fields metav1.FieldsV1
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:` + much + `":{}},"f:finalizers":{"v:` + loadBalancerFinalizer + `":{}}}}`))
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("u-" + name), ResourceVersion: "1", Finalizers: finalizers,
			Labels:        map[string]string{"a": much},
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: much},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: &fields}},
		},
		Spec: corev1.ServiceSpec{Type: serviceType, Ports: []corev1.ServicePort{{Port: 80}}, ExternalName: much},
	}
}

// A tenant can create Services until etcd is full. Services without a load
// balancer must not fill the memory of the daemon.
func TestServicesWithoutLoadBalancerTakeNextToNoMemory(t *testing.T) {
	const services, most = 50, 300 // most is the maximum number of bytes for each Service
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for n := range services {
			objects = append(objects, bulky(fmt.Sprintf("s-%02d", n), corev1.ServiceTypeClusterIP, "somebody.example/finalizer"))
		}
		factory := NewInformerFactory(fake.NewClientset(objects...), 0)
		informer := factory.Core().V1().Services()
		store := informer.Informer().GetStore()
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		synctest.Wait()
		if got := len(store.ListKeys()); got != services {
			t.Fatalf("%d Services are cached, want %d", got, services)
		}
		size := 0
		for _, obj := range store.List() {
			size += obj.(*corev1.Service).Size()
		}
		if size > services*most {
			t.Errorf("%d Services of 800 KiB each take %d bytes, want %d at most", services, size, services*most)
		}
		cancel()
		factory.Shutdown()
	})
}

func TestServiceIsCachedWithWhatIsRead(t *testing.T) {
	class, now := "theirs", metav1.Now()
	shown := corev1.ServiceStatus{
		LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "127.64.0.1"}}},
		Conditions:   []metav1.Condition{{Type: "LoadBalancerServing"}},
	}
	var fields metav1.FieldsV1
	fields.SetRawBytes([]byte(`{"f:finalizers":{}}`))
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		want    func(whole *corev1.Service) *corev1.Service
	}{
		{"ServiceWithoutLoadBalancerIsMetadata", bulky("s", corev1.ServiceTypeClusterIP), func(*corev1.Service) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u-s", ResourceVersion: "1", DeletionTimestamp: &now},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, LoadBalancerClass: &class},
				Status:     shown,
			}
		}},
		{"APIServersServiceKeepsItsAddresses", apiServers(), func(*corev1.Service) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", UID: "u-s", ResourceVersion: "1", DeletionTimestamp: &now},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, LoadBalancerClass: &class, ClusterIPs: []string{"10.96.0.1"}},
				Status:     shown,
			}
		}},
		{"LoadBalancerLosesOnlyManagedFields", bulky("s", corev1.ServiceTypeLoadBalancer), withOwners(fields)},
		{"OurFinalizerKeepsItWhole", bulky("s", corev1.ServiceTypeClusterIP, loadBalancerFinalizer), withOwners(fields)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.service.DeletionTimestamp, tt.service.Spec.LoadBalancerClass, tt.service.Status = &now, &class, shown
			whole := tt.service.DeepCopy()
			want := tt.want(whole.DeepCopy())
			got, err := trim(tt.service)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("cached Service (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(whole, tt.service); diff != "" {
				t.Errorf("the Service itself has changed:\n%s", diff)
			}
			again, _ := trim(got)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("trimmed a second time (-once +twice):\n%s", diff)
			}
		})
	}
}

func apiServers() *corev1.Service {
	s := bulky("s", corev1.ServiceTypeClusterIP)
	s.Namespace, s.Name, s.Spec.ClusterIPs = metav1.NamespaceDefault, "kubernetes", []string{"10.96.0.1"}
	return s
}

// withOwners returns a function that gives these managed fields to a Service.
func withOwners(fields metav1.FieldsV1) func(*corev1.Service) *corev1.Service {
	return func(s *corev1.Service) *corev1.Service {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &fields}}
		return s
	}
}

// After a write, the Service is remembered until the informer has it. It is
// remembered in the form in which the informer keeps Services.
func TestOwnWriteIsRememberedAsTheInformerKeepsIt(t *testing.T) {
	client := fake.NewClientset(bulky("s", corev1.ServiceTypeClusterIP, loadBalancerFinalizer))
	informer := NewInformerFactory(client, 0).Core().V1().Services() // This informer is never started.
	services := NewServices(t.Context(), client, informer)
	if _, err := services.PatchStatus(t.Context(), "ns", "s", ServicePatch{UID: "u-s", RemoveFinalizer: loadBalancerFinalizer}); err != nil {
		t.Fatal(err)
	}
	if err := informer.Informer().GetStore().Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", ResourceVersion: "0"}}); err != nil {
		t.Fatal(err)
	}
	got, err := services.Cached("ns/s")
	if err != nil {
		t.Fatal(err)
	}
	if got.UID != "u-s" || got.Size() > 300 {
		t.Errorf("Service %s of %d bytes is remembered, want the metadata of what was written", got.UID, got.Size())
	}
}

// After a write, the Node is remembered without the fields that the informer
// drops. Otherwise each controller could remember 2,000 Nodes with their images
// and managed fields, which need more memory than the informer.
func TestOwnWriteOfANodeIsRememberedTrimmed(t *testing.T) {
	whole := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"i"}}}, VolumesInUse: []corev1.UniqueVolumeName{"v"}},
	}
	client := fake.NewClientset(whole)
	informer := NewInformerFactory(client, 0).Core().V1().Nodes() // This informer is never started.
	nodes := NewNodes(t.Context(), client, informer)
	if _, err := nodes.Patch(t.Context(), NodePatch{Node: whole, ProviderID: "p://n"}); err != nil {
		t.Fatal(err)
	}
	if err := informer.Informer().GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "0"}}); err != nil {
		t.Fatal(err)
	}
	got, err := nodes.Cached("n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trimNode(got), got); diff != "" || got.Spec.ProviderID != "p://n" {
		t.Errorf("the Node that is remembered (-trimmed +got):\n%s", diff)
	}
}

package kube

import (
	"context"
	"fmt"
	"slices"
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
		Spec: corev1.ServiceSpec{Type: serviceType, Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: slices.Repeat([]string{"192.0.2.1"}, 18000), ExternalName: much},
	}
}

// served is the controller that serves all Services without a class.
func served(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.Annotations[annotationClass] == ""
}

// A tenant can create Services until etcd is full. They must not fill the memory of the
// daemon.
func TestServicesWithoutLoadBalancerTakeNextToNoMemory(t *testing.T) {
	const services, most = 50, 300 // most is the maximum number of bytes for each Service
	classed := func(s *corev1.Service) *corev1.Service {
		s.Annotations[annotationClass] = "theirs"
		return s
	}
	of := func(class string, s *corev1.Service) *corev1.Service {
		s.Spec.LoadBalancerClass = &class
		return s
	}
	for name, made := range map[string]func(name string) *corev1.Service{
		"Internal": func(name string) *corev1.Service {
			return bulky(name, corev1.ServiceTypeClusterIP, "somebody.example/finalizer")
		},
		"External": func(name string) *corev1.Service { return bulky(name, corev1.ServiceTypeExternalName) },
		"ForgedFinalizer": func(name string) *corev1.Service {
			return bulky(name, corev1.ServiceTypeClusterIP, loadBalancerFinalizer)
		},
		"ForgedClass": func(name string) *corev1.Service { return classed(bulky(name, corev1.ServiceTypeClusterIP)) },
		"ForgedFinalizerOfClass": func(name string) *corev1.Service {
			return classed(bulky(name, corev1.ServiceTypeClusterIP, loadBalancerFinalizer))
		},
		"ForgedOwnerOfServed": func(name string) *corev1.Service {
			return classed(bulky(name, corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer))
		},
		"AnotherClass": func(name string) *corev1.Service { return of("theirs", bulky(name, corev1.ServiceTypeLoadBalancer)) },
		"ManyFinalizers": func(name string) *corev1.Service {
			return of("theirs", bulky(name, corev1.ServiceTypeLoadBalancer, append(slices.Repeat([]string{"a.example/b"}, 9000), loadBalancerFinalizer)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if size := sizeOfCached(t, services, made); size > services*most {
				t.Errorf("%d Services of 800 KiB each take %d bytes, want %d at most", services, size, services*most)
			}
		})
	}
}

// What is kept of a Service with a load balancer is bounded, too.
func TestLargeServicesAreKeptInPart(t *testing.T) {
	const services = 20
	long := strings.Repeat("x", 200<<10)
	for name, edit := range map[string]func(s *corev1.Service){
		"LongAnnotation": func(*corev1.Service) {},
		"LongClass":      func(s *corev1.Service) { s.Annotations[annotationClass+"s"] = long },
		"LongName":       func(s *corev1.Service) { s.Spec.LoadBalancerIP = long },
		"LongRange":      func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{long + "192.0.2.0/24"} },
		"ManyRanges": func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = slices.Repeat([]string{"192.0.2.0/24"}, 20000)
		},
		"LongPorts": func(s *corev1.Service) {
			protocol := strings.Repeat("x", 253) + "/" + strings.Repeat("x", 63)
			s.Spec.Ports = slices.Repeat([]corev1.ServicePort{{Port: 80, NodePort: 30080, Name: strings.Repeat("x", 63), AppProtocol: &protocol}}, 3000)
		},
		"ManyPorts":         func(s *corev1.Service) { s.Spec.Ports = slices.Repeat(s.Spec.Ports, 30000) },
		"ManyFinalizers":    func(s *corev1.Service) { s.Finalizers = slices.Repeat([]string{"a.example/b"}, 9000) },
		"ManyManagedFields": func(s *corev1.Service) { s.ManagedFields = slices.Repeat(s.ManagedFields, 20) },
		"ManyShortAnnotations": func(s *corev1.Service) {
			for n := range 20000 {
				s.Annotations[fmt.Sprint("a.example/", n)] = "x"
			}
		},
		"LongSelector": func(s *corev1.Service) {
			s.Spec.Selector = map[string]string{}
			for n := range 9000 {
				s.Spec.Selector[fmt.Sprint("a.example/", n)] = "x"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			size := sizeOfCached(t, services, func(name string) *corev1.Service {
				s := bulky(name, corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer)
				edit(s)
				return s
			})
			if size > services*maxWhole {
				t.Errorf("%d Services take %d bytes, want %d at most", services, size, services*maxWhole)
			}
		})
	}
}

// sizeOfCached returns the size of so many Services in the informer.
func sizeOfCached(t *testing.T, services int, made func(name string) *corev1.Service) (size int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for n := range services {
			objects = append(objects, made(fmt.Sprintf("s-%02d", n)))
		}
		factory := NewInformerFactory(fake.NewClientset(objects...), 0, served)
		informer := factory.Core().V1().Services()
		store := informer.Informer().GetStore()
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		synctest.Wait()
		if got := len(store.ListKeys()); got != services {
			t.Fatalf("%d Services are cached, want %d", got, services)
		}
		for _, obj := range store.List() {
			size += obj.(*corev1.Service).Size()
		}
		cancel()
		factory.Shutdown()
	})
	return size
}

// A change of anything from which a load balancer may be built changes what is kept of a
// large Service, and the shortest annotations stay.
func TestLargeServiceShowsItsChanges(t *testing.T) {
	was := TrimService(bulky("s", corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer), served)
	for name, edit := range map[string]func(s *corev1.Service){
		"Annotation": func(s *corev1.Service) { s.Annotations[corev1.LastAppliedConfigAnnotation] += "y" },
		"ExternalIP": func(s *corev1.Service) { s.Spec.ExternalIPs[17999] = "192.0.2.2" },
		"Selector":   func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := bulky("s", corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer)
			edit(s)
			if now := TrimService(s, served); digestOf(now).Manager == digestOf(was).Manager {
				t.Error("the change leaves no trace")
			}
		})
	}
	for name, edit := range map[string]func(s *corev1.Service){
		"Status": func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		},
		"Labels": func(s *corev1.Service) { s.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := bulky("s", corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer)
			edit(s)
			if now := TrimService(s, served); digestOf(now).Manager != digestOf(was).Manager {
				t.Error("the change looks like one of the load balancer")
			}
		})
	}
	s := bulky("s", corev1.ServiceTypeLoadBalancer, loadBalancerFinalizer)
	s.Annotations["example.com/load-balancer-id"] = "lb-1"
	if got := TrimService(s, served); got.Annotations["example.com/load-balancer-id"] != "lb-1" || len(got.Spec.Ports) != 1 {
		t.Errorf("annotations %v and ports %v are kept, want those by which a provider finds the load balancer", got.Annotations, got.Spec.Ports)
	}
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
		{"LoadBalancerLosesOnlyManagedFields", slim("s", corev1.ServiceTypeLoadBalancer), withOwners(fields)},
		{"OurFinalizerAndItsManagerAreKept", bulky("s", corev1.ServiceTypeClusterIP, loadBalancerFinalizer, "a.example/b"), func(*corev1.Service) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "s", UID: "u-s", ResourceVersion: "1", DeletionTimestamp: &now, Finalizers: []string{loadBalancerFinalizer},
					ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &fields}},
				},
				Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, LoadBalancerClass: &class},
				Status: shown,
			}
		}},
		{"ClassIsKeptWithoutTheFinalizer", annotated(bulky("s", corev1.ServiceTypeClusterIP), "theirs"), func(*corev1.Service) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "s", UID: "u-s", ResourceVersion: "1", DeletionTimestamp: &now, Annotations: map[string]string{annotationClass: "theirs"},
				},
				Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, LoadBalancerClass: &class},
				Status: shown,
			}
		}},
		{"ClassOfTheFinalizerIsKept", annotated(bulky("s", corev1.ServiceTypeClusterIP, loadBalancerFinalizer), "theirs"), func(*corev1.Service) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "s", UID: "u-s", ResourceVersion: "1", DeletionTimestamp: &now, Finalizers: []string{loadBalancerFinalizer},
					Annotations:   map[string]string{annotationClass: "theirs"},
					ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &fields}},
				},
				Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, LoadBalancerClass: &class},
				Status: shown,
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.service.DeletionTimestamp, tt.service.Spec.LoadBalancerClass, tt.service.Status = &now, &class, shown
			whole := tt.service.DeepCopy()
			want := tt.want(whole.DeepCopy())
			got, err := trim(ofTheirs)(tt.service)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("cached Service (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(whole, tt.service); diff != "" {
				t.Errorf("the Service itself has changed:\n%s", diff)
			}
			again, _ := trim(ofTheirs)(got)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("trimmed a second time (-once +twice):\n%s", diff)
			}
		})
	}
}

// ofTheirs is a controller that serves all classes.
func ofTheirs(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer }

// slim returns a Service of an ordinary size.
func slim(name string, serviceType corev1.ServiceType) *corev1.Service {
	s := bulky(name, serviceType)
	s.Annotations, s.Labels = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "example.com/a": "b"}, map[string]string{"a": "b"}
	s.Spec.ExternalName, s.Spec.ExternalIPs = "", []string{"192.0.2.1"}
	return s
}

func annotated(s *corev1.Service, class string) *corev1.Service {
	s.Annotations[annotationClass] = class
	return s
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
	informer := NewInformerFactory(client, 0, served).Core().V1().Services() // This informer is never started.
	services := NewServices(t.Context(), client, informer, served)
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
	informer := NewInformerFactory(client, 0, served).Core().V1().Nodes() // This informer is never started.
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

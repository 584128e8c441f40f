package service

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// For each state of a Service, Plan returns one step. It writes nothing, and does not
// call the cloud. The controller of this test does not even have a cloud.
func TestPlan(t *testing.T) {
	served := func(s *corev1.Service) {
		s.Finalizers = []string{Finalizer}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.0.0.1"}}
	}
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }
	provisioning := "condition LoadBalancerProvisioning=True (Ensuring)"
	for _, tt := range []struct {
		name  string
		edits []func(*corev1.Service)
		want  step.Step
		// policy is empty in most cases, so that Services without a class are served.
		policy Policy
	}{
		{"NewServiceGetsALoadBalancer", nil, step.Step{
			Effect: step.Create, Do: "ensure", Writes: []string{"finalizer " + Finalizer + " added", "annotation " + AnnotationClass + `: "-"`, provisioning, "event Normal EnsuringLoadBalancer"},
			Calls: []string{"EnsureLoadBalancer with 1 nodes"},
		}, Policy{}},
		{"ServedServiceIsChecked", []func(*corev1.Service){served}, step.Step{Effect: step.Update, Do: "ensure", Calls: []string{"EnsureLoadBalancer with 1 nodes"}}, Policy{}},
		{"DeletedServiceIsCleanedUp", []func(*corev1.Service){served, deleted}, step.Step{
			Effect: step.Delete, Do: "remove",
			Writes: []string{"event Normal DeletingLoadBalancer", "event Normal DeletedLoadBalancer", "finalizer " + Finalizer + " removed", "0 addresses"},
			Calls:  []string{"EnsureLoadBalancerDeleted"},
		}, Policy{}},
		{"ServiceOfAnotherClassStays", []func(*corev1.Service){func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("a/b") }}, step.Step{Effect: step.None, Do: "nothing"}, Policy{}},
		{"ClassIsNoted", []func(*corev1.Service){func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("a/b") }}, step.Step{
			Effect: step.Create, Do: "ensure",
			Writes: []string{"finalizer " + Finalizer + " added", "annotation " + AnnotationClass + `: "a/b"`, provisioning, "event Normal EnsuringLoadBalancer"},
			Calls:  []string{"EnsureLoadBalancer with 1 nodes"},
		}, Policy{Classes: []string{"a/b"}}},
		{"ClassThatIsGoneIsForgotten", []func(*corev1.Service){served, deleted, func(s *corev1.Service) { s.Annotations = map[string]string{AnnotationClass: "a/b"} }}, step.Step{
			Effect: step.Delete, Do: "remove",
			Writes: []string{"event Normal DeletingLoadBalancer", "event Normal DeletedLoadBalancer", "finalizer " + Finalizer + " removed", "annotation " + AnnotationClass + " removed", "0 addresses"},
			Calls:  []string{"EnsureLoadBalancerDeleted"},
		}, Policy{Classes: []string{"a/b"}, ClassesOnly: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
			for _, edit := range tt.edits {
				edit(s)
			}
			cluster := fake.NewClientset(s, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			ctx, cancel := context.WithCancel(t.Context())
			informers := kube.NewInformerFactory(cluster, 0, tt.policy.IsServed)
			informer := informers.Core().V1().Services()
			c := New(Deps{Services: kube.NewServices(ctx, cluster, informer, tt.policy.IsServed), Informer: informer, Nodes: informers.Core().V1().Nodes()}, Config{Policy: tt.policy})
			known, stop, err := c.Follow(ctx)
			if err != nil {
				t.Fatal(err)
			}
			informers.StartWithContext(ctx)
			defer informers.Shutdown()
			defer cancel()
			defer stop()
			cache.WaitForCacheSync(ctx.Done(), known)
			if keys := c.Keys(); !slices.Equal(keys, []string{"ns/web"}) {
				t.Errorf("keys %q", keys)
			}
			want := tt.want
			want.Object = "service/ns/web"
			for range 2 { // A second plan is the same, because the first one was not carried out.
				got, err := c.Plan(ctx, "ns/web")
				if err != nil || len(got) != 1 || got[0].Why == "" {
					t.Fatalf("steps %+v, error %v", got, err)
				}
				if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(step.Step{}, "Why", "After"), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("step (-want +got):\n%s", diff)
				}
			}
			for _, a := range cluster.Actions() {
				if !slices.Contains([]string{"list", "watch"}, a.GetVerb()) {
					t.Errorf("the API server got %s %s", a.GetVerb(), a.GetResource().Resource)
				}
			}
		})
	}
}

package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	address = []corev1.LoadBalancerIngress{{IP: "127.64.0.1"}}
	policy  = Policy{Classes: []string{"ours"}, Resync: DefaultPolicy().Resync}
)

// balanced returns a Service that wants a load balancer.
func balanced(edits ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u1"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
	}
	for _, edit := range edits {
		edit(service)
	}
	return service
}

func held(s *corev1.Service)        { s.Finalizers = []string{"other", Finalizer} } // as upstream does it
func addressed(s *corev1.Service)   { s.Status.LoadBalancer.Ingress = address }
func terminating(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: noon} }
func internal(s *corev1.Service)    { s.Spec.Type = corev1.ServiceTypeClusterIP }
func replaced(s *corev1.Service)    { s.UID = "u2" }
func unclassed(s *corev1.Service)   { s.Spec.LoadBalancerClass = nil }
func edited(s *corev1.Service)      { s.Spec.Ports[0].Port = 81 }

// finalized gives a Service the finalizer as this controller does it.
func finalized(s *corev1.Service) {
	held(s)
	if s.Annotations[AnnotationClass] == "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, AnnotationClass, noClass)
	}
}

func class(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = &name }
}

// madeAs annotates a Service with the class under which its load balancer was made.
func madeAs(class string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{AnnotationClass: class} }
}

// conditioned gives a Service the conditions of a load balancer that works.
func conditioned(s *corev1.Service) {
	for _, c := range []metav1.Condition{
		serving(observed{hosts: 1, memory: memory{status: &corev1.LoadBalancerStatus{Ingress: address}}}), provisioned(),
	} {
		c.LastTransitionTime = metav1.NewTime(noon.Add(-time.Hour))
		s.Status.Conditions = append(s.Status.Conditions, c)
	}
}

// known returns the memory of a load balancer that is in line with its Service.
func known(service *corev1.Service, edits ...func(*memory)) memory {
	return memory{
		uid: service.UID, service: service, shape: shapeOf(service), backends: "set", ensuredAt: noon.Add(-time.Hour),
		status: &corev1.LoadBalancerStatus{Ingress: address}, published: true,
	}.with(edits...)
}

func (m memory) with(edits ...func(*memory)) memory {
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func hasFailed(during action, of *corev1.Service, ago time.Duration) func(*memory) {
	return func(m *memory) {
		*m, _ = conclude(plan{do: during, service: of, memory: *m}, outcome{
			result: failed, at: noon.Add(-ago), nodes: nodeSet{id: "set"}, cause: reasonCloudFailed.Cause("because"), text: "no",
		})
	}
}

// row is a situation, and the plan that the function decide must make in it. The time
// is noon, and the newest set has one Node. The function edit can change that.
type row struct {
	name    string
	service *corev1.Service
	memory  memory
	edit    func(*observed)
	want    string // see digest
}

func runRows(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, service: tt.service, backends: "set", hosts: 1, memory: tt.memory, policy: policy}
			if tt.edit != nil {
				tt.edit(&o)
			}
			before := tt.service.DeepCopy()
			if got := digest(decide(o)); got != tt.want {
				t.Errorf("plan\n got %s\nwant %s", got, tt.want)
			}
			if diff := cmp.Diff(before, tt.service); diff != "" {
				t.Errorf("decide has changed the informer's Service:\n%s", diff)
			}
		})
	}
}

// digest returns a plan in one line. The line begins with p.do and p.why.
func digest(p plan) string {
	parts := []string{string(p.do) + ": " + p.why}
	if p.routine {
		parts = append(parts, "routine")
	}
	if p.after > 0 {
		parts = append(parts, "after "+p.after.String())
	}
	if p.writes.ingress != nil {
		addresses := []string{"no address"}
		for i, ingress := range *p.writes.ingress {
			addresses = append(addresses[:i], "address "+ingress.IP)
		}
		parts = append(parts, addresses...)
	}
	for _, c := range p.writes.conditions {
		parts = append(parts, c.Type+" "+string(c.Status)+" "+c.Reason)
	}
	if len(p.writes.drop) > 0 {
		parts = append(parts, "drop "+strings.Join(p.writes.drop, ", "))
	}
	if p.writes.release {
		parts = append(parts, "finalizer removed")
	}
	if p.writes.class != nil {
		parts = append(parts, strings.TrimSpace("annotated "+*p.writes.class))
	}
	for _, e := range p.writes.events {
		parts = append(parts, "event "+e.Reason)
	}
	return strings.Join(parts, " | ")
}

// TestDecide checks the order of the rules. The first rule that applies decides.
func TestDecide(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{name: "NothingIsKnownOfAnUnknownKey", want: "forget: there is no such Service"},
		{
			name: "OrphanComesBeforeTheClassOfItsSuccessor", service: balanced(replaced, class("theirs")), memory: known(ready),
			want: "remove: another Service has the name now, and the load balancer of the previous one may still exist | event DeletingLoadBalancer",
		},
		{
			name: "ClassComesBeforeTheDeletion", service: balanced(held, terminating, class("theirs")),
			want: "nothing: the Service belongs to another load balancer class | after 10m0s",
		},
		{
			name: "DeletionComesBeforeTheFinalizer", service: balanced(terminating),
			want: "forget: the Service has no load balancer",
		},
		{
			name: "ServiceThatWantsALoadBalancerGetsOne", service: balanced(),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated -",
		},
	})
}

func TestActionPrintsItself(t *testing.T) {
	if got := fmt.Sprintf("%v, %v", addFinalizer, doNothing); got != "add finalizer, nothing" {
		t.Errorf("got %q", got)
	}
	if (plan{}).do.isCall() {
		t.Error("the zero plan calls the cloud")
	}
}

func TestEventsOfALostObjectAreRecordedOnTheRememberedService(t *testing.T) {
	now, remembered := balanced(), balanced()
	if got := (observed{service: now, memory: memory{service: remembered}}).subject(); got != now {
		t.Errorf("got %p, want the Service that exists", got)
	}
	if got := (observed{memory: memory{service: remembered}}).subject(); got != remembered {
		t.Errorf("got %p, want the Service of the last call", got)
	}
}

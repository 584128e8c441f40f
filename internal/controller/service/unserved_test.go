package service

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestUnserved(t *testing.T) {
	deletedFor := func(ago time.Duration) func(*corev1.Service) {
		return func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: noon.Add(-ago)} }
	}
	blocked := balanced(held, class("theirs"), deletedFor(unservedAfter))
	shown := blocked.DeepCopy()
	shown.Status.Conditions = []metav1.Condition{newCondition(reasonUnserved, metav1.ConditionTrue, unservedCause(blocked).Message)}
	told := func(ago time.Duration) memory {
		return memory{recorded: showing.News{reasonCleanupHeld.Name: noon.Add(-ago)}}
	}
	says := "wait: the finalizer holds up a Service of another load balancer class"
	retired := func(o *observed) { o.policy.Retired = list("theirs") }
	runRows(t, []row{
		{
			name: "ControllerOfTheClassHasTimeToCleanUp", service: balanced(held, class("theirs"), deletedFor(time.Minute)),
			want: "nothing: the Service belongs to another load balancer class | after 9m0s",
		},
		{name: "ServiceThatIsHeldSaysSo", service: blocked, want: says + " | after 30m0s | LoadBalancerCleanupHeld True ClassNotServed | event LoadBalancerCleanupHeld"},
		{
			name: "ServiceThatIsHeldAndHasLostItsClassSaysSo", service: balanced(held, internal, deletedFor(time.Hour)), edit: func(o *observed) { o.foreign = true },
			want: says + " | after 30m0s | LoadBalancerCleanupHeld True ClassNotServed | event LoadBalancerCleanupHeld",
		},
		{
			name: "ServiceWhoseLoadBalancerIsHeldSaysSo", service: balanced(held, madeAs("theirs")), memory: memory{heldSince: noon.Add(-unservedAfter)},
			want: says + " | after 30m0s | event LoadBalancerCleanupHeld",
		},
		{
			name: "ServiceIsNotHeldAnyMore", service: balanced(held, internal, class("theirs")), memory: memory{heldSince: noon.Add(-unservedAfter)},
			want: "nothing: the Service belongs to another load balancer class",
		},
		{name: "ServiceThatIsHeldSaysSoOnce", service: blocked, memory: told(10 * time.Minute), want: says + " | after 20m0s"},
		{name: "EventIsRepeatedAfterHalfAnHour", service: shown, memory: told(30 * time.Minute), want: says + " | after 30m0s | event LoadBalancerCleanupHeld"},
		{
			name: "ServiceThatIsHeldByAnotherFinalizerIsNotTouched", service: balanced(class("theirs"), deletedFor(time.Hour)),
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "ServiceWithoutClassThatIsHeldSaysSo", service: balanced(held, deletedFor(time.Hour)), edit: func(o *observed) { o.policy.ClassesOnly = true },
			want: says + " | after 30m0s | LoadBalancerCleanupHeld True ClassNotServed | event LoadBalancerCleanupHeld",
		},
		{
			name: "ServiceOfARetiredClassIsCleanedUp", service: blocked, edit: retired,
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "ServiceOfARetiredClassIsLeftAloneWhileItLives", service: balanced(held, class("theirs")), edit: retired,
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "ConditionGoesWithTheFinalizer", service: shown, edit: retired, memory: known(blocked, func(m *memory) { m.deleted = true }),
			want: "release: the load balancer is gone | drop LoadBalancerCleanupHeld | finalizer removed",
		},
	})
	if got := policy.wakes(change{before: balanced(held, class("theirs"), version("1")), now: balanced(held, class("theirs"), terminating, version("2"))}); got != high {
		t.Errorf("the deletion of a Service that may be held has priority %q", got)
	}
}

func TestServiceThatIsHeldSaysWho(t *testing.T) {
	f := metav1.FieldsV1{}
	f.SetRawBytes([]byte(`{"f:metadata":{"f:finalizers":{}}}`))
	s := balanced(held, class("theirs"), func(s *corev1.Service) {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "their-controller", FieldsV1: &f}}
	})
	for _, tt := range []struct {
		service *corev1.Service
		says    string
	}{
		{balanced(held), "the controller of Services without a class"},
		{balanced(held, internal, madeAs(noClass)), "the controller of Services without a class"},
		{balanced(held, internal), "the class that it had before it got another type"},
		{balanced(held, madeAs("theirs")), "gets no load balancer here until the controller of Services of the class theirs"},
		{balanced(held, terminating), "is being deleted"},
	} {
		if text := unservedCause(tt.service).Message; !strings.Contains(text, tt.says) {
			t.Errorf("%q does not say %q", text, tt.says)
		}
	}
	for _, word := range list("theirs", "their-controller", Finalizer, "--load-balancer-class-cleanup=theirs") {
		if text := unservedCause(s).Message; !strings.Contains(text, word) {
			t.Errorf("%q does not name %s", text, word)
		}
	}
}

func TestServiceOfAClassThatIsNotServedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Classes: list("theirs")}}, balanced(class("theirs")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		l.change(func() { l.calls, l.events = nil, nil })
		l.config.Policy = Policy{}
		l.start()
		l.update(func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		l.after(9 * time.Minute)
		l.expect("in deletion for nine minutes", nil, nil)
		l.after(2 * time.Minute)
		l.expect("in deletion for eleven minutes", nil, list("s LoadBalancerCleanupHeld"))
		if c := findCondition(l.service(), ConditionCleanupHeld); c == nil || c.Reason != "ClassNotServed" {
			t.Errorf("conditions %+v", l.service().Status.Conditions)
		}
		l.after(25 * time.Minute)
		l.expect("later", nil, nil)
		l.stop()
		l.config.Policy = Policy{Retired: list("theirs")}
		l.start()
		l.after(time.Minute)
		l.expect("with the flag", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		if _, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{}); err == nil || len(l.balancers) > 0 {
			t.Errorf("left over: the Service (error %v), load balancers %v", err, l.balancers)
		}
	})
}

package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestFailedCallIsRetriedWithGrowingDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		for range 60 { // changes of the Service do not shorten the delay
			l.after(time.Minute)
			l.update(func(s *corev1.Service) { s.Labels = map[string]string{"now": time.Now().Format("150405")} })
		}
		if got := len(l.calls); got < 10 || got > 20 {
			t.Errorf("%d calls in an hour, want about one in five minutes", got)
		}
		if got := slices.Compact(slices.Clone(l.events)); len(got) > 3 || !slices.Contains(got, "s SyncLoadBalancerFailed") {
			t.Errorf("events %v", l.events)
		}
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Reason != "CloudFailed" || !strings.Contains(c.Message, "no") {
			t.Errorf("condition %+v", c)
		}
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(6 * time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v after the recovery", c)
		}
	})
}

func TestProviderThatAsksForAnotherCallIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		again := &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Pending, RetryAfter: 3 * time.Second, Err: errors.New("pending")}
		l.change(func() { l.fail = func(string) error { return again } })
		l.after(time.Minute)
		if got := len(l.calls); got < 14 || got > 16 {
			t.Errorf("%d calls in a minute, want one in three seconds and one of the call", got)
		}
	})
}

func TestSlowCallIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = time.Minute })
		l.after(20 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "Ensuring" {
			t.Errorf("condition %+v at first", c)
		}
		l.after(11 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "InProgress" {
			t.Errorf("condition %+v after half a minute", c)
		}
		l.after(time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v afterwards", c)
		}
	})
}

// If the call after a failure is slow, the Service shows the slow call only after it
// has shown the failure for a minute.
func TestSlowCallAfterAFailureIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		l.after(3 * time.Second)
		l.change(func() { l.takes, l.fail = 5*time.Minute, func(string) error { return nil } })
		l.after(40 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Reason != "CloudFailed" {
			t.Errorf("condition %+v within a minute of the failure", c)
		}
		l.after(30 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Reason != "InProgress" {
			t.Errorf("condition %+v afterwards, while the call is under way", c)
		}
	})
}

func TestSlowUpdateIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.takes = time.Minute })
		l.create(host("b"))
		l.after(20 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v at once, want a quick update to write nothing", c)
		}
		l.after(20 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue || c.Reason != "InProgress" {
			t.Errorf("condition %+v after more than half a minute", c)
		}
		l.after(time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v afterwards", c)
		}
	})
}

func TestFailedUpdateIsEnsured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.calls, l.events = nil, nil
			l.fail = func(call string) error {
				if call == "update s" {
					return errors.New("no")
				}
				return nil
			}
		})
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.expect("failed", list("update s", "ensure s"), list("s UpdateLoadBalancerFailed", "s EnsuredLoadBalancer", "s UnAvailableLoadBalancer"))
	})
}

func TestAddressThatTheProviderChangesIsNotContested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Resync: time.Hour}}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.address, l.events = "127.64.0.2", nil })
		l.after(2 * time.Hour)
		l.change(func() { l.calls = nil })
		l.expect("another address", nil, nil)
		if got := l.service().Status.LoadBalancer.Ingress[0].IP; got != "127.64.0.2" {
			t.Errorf("address %s", got)
		}
	})
}

func TestProviderIsGivenWholeServices(t *testing.T) {
	annotated := func(s *corev1.Service) { s.Annotations = map[string]string{"size": "large"} }
	unfinalized := func(s *corev1.Service) { s.Finalizers = nil }
	type edits []func(*corev1.Service)
	for _, tt := range []struct {
		name          string
		before, after edits
		want          string
	}{
		{name: "ServiceThatBecomesALoadBalancer", before: edits{internal}, after: edits{func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }}, want: "ensure s"},
		{name: "ServiceThatIsOneNoLonger", after: edits{internal}, want: "delete s"},
		{name: "ServiceThatIsOneNoLongerAndHasLostTheFinalizer", after: edits{internal, unfinalized}, want: "delete s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(append(tt.before, annotated)...), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.change(func() { l.calls, l.subject = nil, nil })
				l.update(tt.after...)
				l.after(time.Minute)
				l.mu.Lock()
				defer l.mu.Unlock()
				if !slices.Equal(l.calls, list(tt.want)) || l.subject.Annotations["size"] != "large" || len(l.subject.Spec.Ports) != 1 {
					t.Errorf("calls %v with %+v, want %s with the whole Service", l.calls, l.subject, tt.want)
				}
			})
		})
	}
}

package service

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestLifeOfAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		s := l.service()
		if len(s.Status.LoadBalancer.Ingress) != 1 || findCondition(s, ConditionServing).Status != metav1.ConditionTrue || findCondition(s, ConditionProvisioning).Status != metav1.ConditionFalse {
			t.Errorf("status %+v", s.Status)
		}
		if got := l.patches(); got != 2 {
			t.Errorf("%d patches for a new Service, want 2", got)
		}
		l.update(edited)
		l.after(time.Minute)
		l.expect("changed", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} })
		l.after(time.Hour)
		l.expect("labelled", nil, nil)
		l.update(internal)
		l.after(time.Minute)
		l.expect("of another type", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		s = l.service()
		if len(s.Finalizers)+len(s.Status.LoadBalancer.Ingress)+len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status, l.balancers)
		}
	})
}

func TestNodesThatJoinTogetherAreOneUpdateForEachLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		for n := range 20 {
			node := host(fmt.Sprint("n", n), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider}} })
			if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.after(100 * time.Millisecond)
			node.Spec.Taints, node.ResourceVersion = nil, strconv.Itoa(n)
			if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.after(time.Minute)
		slices.Sort(l.calls)
		slices.Sort(l.events)
		l.expect("twenty nodes", list("update s1", "update s2"), list("s1 UpdatedLoadBalancer", "s2 UpdatedLoadBalancer"))
		if got := len(l.balancers["u-s1"]); got != 21 {
			t.Errorf("%d backends, want 21", got)
		}
	})
}

func TestNewestNodeSetWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"), host("b"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 20 * time.Second })
		l.create(balanced())
		l.after(10 * time.Second)
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(2 * time.Minute)
		if got := l.balancers["u1"]; !slices.Equal(got, list("a")) {
			t.Errorf("backends %v, want the last set", got)
		}
	})
}

func TestFirstEnsureGetsTheNodesAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, balanced(named("old")), host("a", tainted(api.TaintExternalCloudProvider)))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls = nil })
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), host("a", func(n *corev1.Node) { n.ResourceVersion = "1" }), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(100 * time.Millisecond)
		l.create(balanced())
		l.after(500 * time.Millisecond)
		if len(l.given) != 1 {
			t.Errorf("nodes %v of the first call, want the one that was just initialised", l.given)
		}
		l.after(time.Minute)
		if got := l.balancers["u-old"]; !slices.Equal(got, list("a")) {
			t.Errorf("backends %v of an earlier Service, want it to be updated too", got)
		}
		if want := list("ensure s", "update old"); !slices.Equal(l.calls, want) {
			t.Errorf("calls %v, want %v", l.calls, want)
		}
	})
}

func TestNewServicesGoBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls, l.takes = nil, 10*time.Second })
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 3 {
			t.Errorf("calls %v, want the new Service before the updates that wait", l.calls)
		}
		if !slices.ContainsFunc(l.events, func(e string) bool { return strings.HasSuffix(e, " LoadBalancerQueued") }) {
			t.Errorf("events %v, want an event for a Service that waits for long", l.events)
		}
	})
}

func TestServiceWithSlowCallsDoesNotKeepAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.takes = nil, 5*time.Minute })
		for n := range 15 { // each joins during the update for the one before
			l.create(host(fmt.Sprint("n", n)))
			if n == 5 {
				l.create(balanced(named("new")))
			}
			l.after(3 * time.Minute)
			if err := l.controller.Stuck(15 * time.Minute); err != nil {
				t.Error(err)
			}
		}
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 5 {
			t.Errorf("calls %v, want the new Service to be served early", l.calls)
		}
		if got := len(l.balancers["u1"]); got != 16 {
			t.Errorf("%d backends, want 16", got)
		}
	})
}

func TestNewServiceThatIsRetriedGoesBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		again := &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Pending, RetryAfter: 15 * time.Second, Err: errors.New("pending")}
		l.change(func() {
			l.calls, l.takes = nil, 10*time.Second
			l.fail = func(call string) error {
				if call == "ensure new" && len(l.calls) < 8 {
					return again
				}
				return nil
			}
		})
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(3 * time.Minute)
		if s, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "new", metav1.GetOptions{}); err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("calls %v, want the new Service to be ready (%v) before the updates that wait", l.calls, err)
		}
	})
}

func TestRestartWithoutNodesRecordsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced())
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer", "s UnAvailableLoadBalancer"))
		l.stop()
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
	})
}

func TestRestartWithManyServicesRecordsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.stop()
		l.change(func() { l.calls, l.events, l.takes = nil, nil, 20*time.Second })
		l.start()
		l.after(time.Hour)
		if len(l.calls) != 20 || len(l.events) > 0 {
			t.Errorf("%d calls and events %v, want one call for each Service and no event", len(l.calls), l.events)
		}
	})
}

func TestProviderGetsNodesAsTheyAreAtTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		before := l.given
		moved := host("b", func(n *corev1.Node) {
			n.ResourceVersion, n.Status.Addresses = "1", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.2"}}
		})
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), moved, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		l.expect("another address of a node", nil, nil)
		l.update(edited)
		l.after(time.Minute)
		if len(l.given) != 2 || len(l.given[1].Status.Addresses) != 1 {
			t.Errorf("nodes %+v, want them as they are when the call is made", l.given)
		}
		if l.given[0] == before[0] || len(before[1].Status.Addresses) != 0 {
			t.Error("two calls share a node, or one that an earlier call has was changed")
		}
	})
}

func TestStateIsWrittenBeforeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		expect := func(when string, want ...string) {
			t.Helper()
			l.change(func() {
				if !slices.Equal(l.writes, want) {
					t.Errorf("%s: written %v, want %v", when, l.writes, want)
				}
				l.writes = nil
			})
		}
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		l.after(3 * time.Second)
		expect("a call fails", "patch", "EnsuringLoadBalancer", "patch", "SyncLoadBalancerFailed")
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(time.Minute)
		expect("it succeeds", "EnsuredLoadBalancer", "patch")
		l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil })
		l.after(time.Second)
		expect("the address is put back", "patch", "LoadBalancerStatusContested")
		l.change(func() {
			l.refuse = apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no"))
			l.fail = func(string) error { return errors.New("no") }
		})
		l.update(edited)
		l.after(1200 * time.Millisecond)
		l.change(func() { l.writes = l.writes[:min(len(l.writes), 3)] }) // The patch is retried.
		expect("the patch is rejected", "EnsuringLoadBalancer", "patch", "SyncLoadBalancerFailed")
	})
}

func TestRefusedRepairIsRepeated(t *testing.T) {
	for name, tamper := range map[string]func(*corev1.Service){
		"Finalizer": func(s *corev1.Service) { s.Finalizers = nil },
		"Address":   func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.change(func() { l.events, l.calls, l.refuse = nil, nil, errors.New("the API server is busy") })
				l.update(tamper)
				l.after(10 * time.Second)
				l.change(func() { l.refuse = nil })
				l.after(time.Minute)
				if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
					t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
				}
				l.change(func() { l.calls = nil }) // The provider is asked about an address.
				l.expect("put back", nil, list("s SyncLoadBalancerFailed", "s LoadBalancerStatusContested"))
			})
		})
	}
}

func TestConditionThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.refuse = errors.New("the API server is busy")
			l.fail = func(string) error { return errors.New("no") }
		})
		l.update(edited)
		l.after(10 * time.Second)
		l.change(func() { l.refuse = nil })
		l.after(30 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
	})
}

func TestAddressIsRepairedOnceInThePauseAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		l.start()
		l.after(time.Minute)
		patches := l.patches()
		for range 3 {
			l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil })
			l.after(time.Minute)
		}
		if got := l.patches() - patches; got != 1 {
			t.Errorf("put back %d times in three minutes, want once", got)
		}
	})
}

func TestRejectedWriteIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.refuse = apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no"))
		})
		l.create(balanced())
		l.after(10 * time.Minute)
		l.expect("refused", nil, list("s SyncLoadBalancerFailed"))
		l.change(func() { l.refuse = nil })
		l.after(10 * time.Minute)
		l.expect("accepted", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
	})
}

func TestFinalizerThatIsRemovedAgainAndAgainIsNotPutBackEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		for range 60 {
			l.after(10 * time.Second)
			l.update(func(s *corev1.Service) { s.Finalizers = nil })
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(10 * time.Minute)
		if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
		}
	})
}

func TestConditionsThatAreRemovedAgainAndAgainAreNotPutBackEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		for range 60 {
			l.update(func(s *corev1.Service) { s.Status.Conditions = nil })
			l.after(10 * time.Second)
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.after(10 * time.Minute)
		if s := l.service(); len(ownConditions(s)) != 2 {
			t.Errorf("status %+v", s.Status)
		}
	})
}

func TestRestartWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		patches := l.patches()
		l.change(func() { l.calls, l.events = nil, nil })
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
		if got := l.patches(); got != patches {
			t.Errorf("%d patches after a restart, want none", got-patches)
		}
	})
}

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

func TestImplementedElsewhereIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(string) error {
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Hour)
		l.expect("elsewhere", list("ensure s"), list("s EnsuringLoadBalancer"))
		if s := l.service(); len(s.Status.Conditions) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("status %+v, want it to be left to somebody else", s.Status)
		}
	})
}

func TestNoConditionIsWrittenIfSomebodyElseProvides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(call string) error {
				if call == "ensure flaky" {
					return errors.New("no")
				}
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Minute)
		for _, name := range []string{"flaky", "new"} { // the failure of one Service says nothing about the next one
			l.create(balanced(named(name)))
			l.after(2 * time.Second)
		}
		patches := 0
		for _, action := range l.cluster.Actions() {
			if patch, ok := action.(clienttesting.PatchAction); ok && patch.GetName() == "new" {
				patches++
			}
		}
		if patches != 1 {
			t.Errorf("%d patches for a new Service, want that of the finalizer", patches)
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

// A call that follows a failure shows that it is slow once the failure has been
// shown for a minute.
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

func TestServiceThatIsRecreatedLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if err := l.cluster.CoreV1().Services("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil { // by force: the finalizer is ignored
			t.Fatal(err)
		}
		l.create(balanced(replaced))
		l.after(time.Minute)
		if len(l.balancers) != 1 || l.balancers["u2"] == nil {
			t.Errorf("load balancers %v, want that of the new Service alone", l.balancers)
		}
	})
}

func TestServiceOfAnotherClassIsLeftAloneWhenItBecomesInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(finalized, class("theirs")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.update(internal, unclassed)
		l.after(time.Hour)
		l.expect("internal", nil, nil)
		if s := l.service(); !hasFinalizer(s) || l.patches() > 0 {
			t.Errorf("finalizers %v after %d patches, want those of the other controller", s.Finalizers, l.patches())
		}
		l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(internal)
		l.after(time.Minute)
		if s := l.service(); hasFinalizer(s) || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %v", s.Finalizers, l.balancers)
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

func TestServiceThatIsGivenToAnotherClassLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(class("theirs"), func(s *corev1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "198.51.100.7" })
		l.after(time.Hour)
		l.expect("given away", list("delete s"), list("s DeletedLoadBalancer"))
		if s := l.service(); hasFinalizer(s) || len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status.Conditions, l.balancers)
		}
		if s := l.service(); len(s.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("status %+v, want the other controller's address", s.Status)
		}
	})
}

// TestEachCrashHeals stops the controller at each moment of a Service's life.
func TestEachCrashHeals(t *testing.T) {
	for moment := range 40 {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{}, balanced(), host("a"))
			defer func() { l.stop() }()
			crash := func() {
				l.after(time.Duration(moment) * 50 * time.Millisecond)
				l.stop()
				l.start()
				l.after(time.Hour)
			}
			crash()
			if len(l.balancers) != 1 || len(l.service().Status.LoadBalancer.Ingress) != 1 {
				t.Errorf("moment %d: %v, %+v", moment, l.balancers, l.service().Status)
			}
			l.update(terminating)
			crash()
			if _, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{}); err == nil || len(l.balancers) > 0 {
				t.Errorf("moment %d: the Service is still there (%v), or its load balancer: %v", moment, err, l.balancers)
			}
		})
	}
}

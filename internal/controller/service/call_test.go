package service

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
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
	bulky := func(s *corev1.Service) { s.Annotations["bulk"] = strings.Repeat("x", 200<<10) }
	edited := func(s *corev1.Service) { s.Annotations["bulk"] += "y" }
	unfinalized := func(s *corev1.Service) { s.Finalizers = nil }
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }
	retired := func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("retired") }
	type edits []func(*corev1.Service)
	for _, tt := range []struct {
		name          string
		before, after edits
		restart       bool // the change happens while no process runs
		want          string
	}{
		{name: "ServiceThatBecomesALoadBalancer", before: edits{internal}, after: edits{func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }}, want: "ensure s"},
		{name: "ServiceThatIsOneNoLonger", after: edits{internal}, want: "delete s"},
		{name: "ServiceThatIsOneNoLongerAndHasLostTheFinalizer", after: edits{internal, unfinalized}, want: "delete s"},
		{name: "ServiceThatIsOneNoLongerAfterARestart", after: edits{internal}, restart: true, want: "delete s"},
		{name: "LargeService", before: edits{internal}, after: edits{func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }, bulky}, want: "ensure s"},
		{name: "LargeServiceThatIsEdited", before: edits{bulky}, after: edits{edited}, want: "ensure s"},
		{name: "LargeServiceAfterARestart", before: edits{bulky}, restart: true, want: "ensure s"},
		{name: "LargeServiceThatIsOneNoLonger", before: edits{bulky}, after: edits{internal}, want: "delete s"},
		{name: "LargeServiceThatIsDeleted", before: edits{bulky}, after: edits{deleted}, restart: true, want: "delete s"},
		{name: "ServiceOfARetiredClass", before: edits{retired, held}, after: edits{deleted}, want: "delete s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{Policy: Policy{Retired: []string{"retired"}}}, balanced(append(edits{annotated}, tt.before...)...), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				if tt.restart {
					l.stop()
				}
				l.change(func() { l.calls, l.subject = nil, nil })
				l.update(tt.after...)
				bulk := l.service().Annotations["bulk"]
				if tt.restart {
					l.start()
				}
				l.after(time.Minute)
				l.mu.Lock()
				defer l.mu.Unlock()
				if !slices.Equal(l.calls, list(tt.want)) || l.subject.Annotations["size"] != "large" || l.subject.Annotations["bulk"] != bulk || len(l.subject.Spec.Ports) != 1 {
					t.Errorf("calls %v with %d bytes, want %s with the whole Service", l.calls, l.subject.Size(), tt.want)
				}
			})
		})
	}
}

// A Service that is not cached whole is read before the call. If it cannot be read, or if
// it has changed in the meantime, the call is not made.
func TestServiceIsReadBeforeTheCall(t *testing.T) {
	services := corev1.SchemeGroupVersion.WithResource("services")
	for _, tt := range []struct {
		name    string
		edit    func(s *corev1.Service) // happens while the Service is read
		removed bool                    // and so does the removal of the object
		fails   time.Duration           // for how long the Service cannot be read
		want    []string
	}{
		{name: "CannotBeReadForSomeTime", fails: 3 * time.Minute, want: list("delete s")},
		{name: "WantsALoadBalancerAgain", edit: func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }, want: list("ensure s")},
		{name: "HasLostTheFinalizer", edit: func(s *corev1.Service) { s.Finalizers = nil }},
		{name: "WasReplaced", edit: func(s *corev1.Service) { s.UID, s.Finalizers = "another", nil }},
		{name: "IsGone", removed: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				began, tracker := time.Now(), l.cluster.Tracker()
				l.cluster.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
					if time.Since(began) < tt.fails {
						return true, nil, errors.New("no")
					}
					if tt.removed {
						return false, nil, tracker.Delete(services, "ns", "s")
					}
					if obj, err := tracker.Get(services, "ns", "s"); err == nil && tt.edit != nil {
						now := obj.(*corev1.Service).DeepCopy()
						l.change(func() { l.version++; now.ResourceVersion = strconv.Itoa(l.version) })
						tt.edit(now)
						return false, nil, tracker.Update(services, now, "ns")
					}
					return false, nil, nil
				})
				l.create(balanced(finalized, internal))
				l.after(10 * time.Minute)
				l.mu.Lock()
				defer l.mu.Unlock()
				if !slices.Equal(l.calls, tt.want) {
					t.Errorf("calls %v, want %v", l.calls, tt.want)
				}
			})
		})
	}
}

// A cache that lags shows a Service that is being deleted, although its name has been used
// again: a provider that finds load balancers by name would remove the new one's.
func TestNoRemovalByAnOldView(t *testing.T) {
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }
	for _, tt := range []struct {
		name string
		live []corev1.Service // while the view is old
	}{
		{name: "ReplacedUnderItsName", live: []corev1.Service{*balanced(finalized, func(s *corev1.Service) { s.UID = "newer" })}},
		{name: "Gone"},
		{name: "LivesAsWasSeenEarlier", live: []corev1.Service{*balanced(finalized)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				began := time.Now()
				l.cluster.PrependReactor("list", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
					isLive := !a.(clienttesting.ListAction).GetListRestrictions().Fields.Empty()
					return isLive && time.Since(began) < time.Hour, &corev1.ServiceList{Items: tt.live}, nil
				})
				if err := l.cluster.Tracker().Add(balanced(finalized, deleted)); err != nil {
					t.Fatal(err)
				}
				l.after(time.Hour - time.Minute)
				l.change(func() {
					if len(l.calls) > 0 {
						t.Errorf("calls %v, want none", l.calls)
					}
				})
				l.after(2 * time.Hour)
				l.change(func() {
					if want := list("delete s"); !slices.Equal(l.calls, want) {
						t.Errorf("calls %v once the view is new, want %v", l.calls, want)
					}
				})
			})
		})
	}
}

// The daemon remembers of a Service whose load balancer cannot be removed no more than the
// informer keeps.
func TestFailedRemovalOfALargeServiceIsRememberedWithoutItsBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(finalized, internal, func(s *corev1.Service) { s.Annotations = map[string]string{"bulk": strings.Repeat("x", 200<<10)} }))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		l.after(time.Minute)
		if m := l.controller.store.memory("ns/s"); len(l.calls) == 0 || m.service.Size() > 300 {
			t.Errorf("%d calls, and %d bytes are remembered, want less than 300", len(l.calls), m.service.Size())
		}
	})
}

func TestConstantsOfTheCache(t *testing.T) {
	if operationDigest != kube.OperationDigest {
		t.Errorf("operation %q, want %q", operationDigest, kube.OperationDigest)
	}
	s := kube.TrimService(balanced(finalized, internal, func(s *corev1.Service) { s.Annotations = map[string]string{AnnotationClass: "a/b"} }), policy.IsServed)
	if !hasFinalizer(s) || s.Annotations[AnnotationClass] != "a/b" {
		t.Errorf("cached as %+v, want it with the finalizer and the class", s.ObjectMeta)
	}
}

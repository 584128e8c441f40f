package service

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestOurs(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "ServiceOfAnotherClassIsNotTouched", service: balanced(held, terminating, class("theirs")),
			want: "nothing: the Service belongs to another load balancer class | after 10m0s",
		},
		{
			name: "ServiceOfAnotherClassIsNotTouchedAfterItsTypeHasChanged", service: balanced(held, conditioned, internal), edit: func(o *observed) { o.foreign = true },
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "LoadBalancerFromBeforeTheClassIsRemoved", service: balanced(finalized, conditioned, class("theirs")), memory: known(ready),
			want: "remove: the Service belongs to another load balancer class now | event DeletingLoadBalancer",
		},
		{
			name: "FinalizerIsRemovedAndTheAddressOfTheOtherClassStays", service: balanced(finalized, addressed, conditioned, class("theirs")),
			memory: known(ready, func(m *memory) { m.deleted = true }),
			want:   "release: the load balancer is gone | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed | annotated",
		},
		{
			name: "ServiceOfAnotherClassIsForgottenOnceNothingIsLeft", service: balanced(addressed, class("theirs")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "forget: the Service has no load balancer",
		},
		{
			name: "FailureWritesNoConditionOnAServiceOfAnotherClass", service: balanced(finalized, class("theirs")),
			memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want:   "wait: because | after 3s | event SyncLoadBalancerFailed",
		},
		{
			name: "ServiceOfOurClassIsServed", service: balanced(class("ours")),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated ours",
		},
	})
}

// A daemon that serves Services without a class leaves a Service alone if another
// daemon has made its load balancer under a class.
func TestServiceThatNamesTheClassOfItsLoadBalancer(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "TheirsIsNotTouchedAfterItsTypeHasChanged", service: balanced(finalized, conditioned, internal, madeAs("theirs")),
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "TheirsIsNotTouchedWhileTheyCleanUp", service: balanced(finalized, madeAs("theirs")),
			want: "nothing: the Service belongs to another load balancer class | after 10m0s",
		},
		{
			name: "AnnotationWithoutFinalizerMeansNothing", service: balanced(madeAs("theirs")),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated -",
		},
		{
			name: "OursIsCleanedUp", service: balanced(finalized, internal, madeAs("ours")),
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
		{
			name: "OursKeepsItsLoadBalancerWithoutTheClass", service: balanced(held, addressed, conditioned, madeAs("ours")), memory: known(ready),
			want: "publish: the annotation with the class of the load balancer has to be corrected | annotated -",
		},
		{
			name: "RetiredIsCleanedUp", service: balanced(finalized, internal, madeAs("theirs")), edit: func(o *observed) { o.policy.Retired = list("theirs") },
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
	})
}

// With "-" in --load-balancer-class, Services without a class are left to other
// daemons. But a load balancer that this daemon has made under a class still belongs to
// this daemon after the Service has lost the class.
func TestServicesWithoutClassAreLeftToOthers(t *testing.T) {
	ready := balanced(held, addressed, conditioned, class("ours"))
	rows := []row{
		{name: "NotServed", service: balanced(), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotTouched", service: balanced(held, addressed, conditioned), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotCleanedUpWhenTheTypeChanges", service: balanced(held, conditioned, internal), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotCleanedUpWhenDeleted", service: balanced(held, terminating), want: "nothing: the Service belongs to another load balancer class | after 10m0s"},
		{
			name: "OursIsAnnotatedWithTheFinalizer", service: balanced(class("ours")),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated ours",
		},
		{
			name: "OursFromBeforeTheFlagIsAnnotated", service: ready, memory: known(ready),
			want: "publish: the annotation with the class of the load balancer has to be corrected | annotated ours",
		},
		{
			name: "AnnotationIsNotPutBackWithinThePause", service: ready, memory: known(ready, func(m *memory) { m.namedAt = noon.Add(-repairPause + time.Second) }),
			want: "nothing: up to date | after 1s",
		},
		{
			name: "OursThatHasLostTheClassWithTheTypeIsCleanedUp", service: balanced(finalized, internal, madeAs("ours")),
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
		{
			name: "AnnotationGoesWithTheFinalizer", service: balanced(finalized, internal, madeAs("ours")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "release: the load balancer is gone | finalizer removed | annotated",
		},
		{
			name: "OursThatHasNoClassNowIsCleanedUpAndGivenAway", service: balanced(finalized, madeAs("ours")),
			want: "remove: the Service belongs to another load balancer class now | event DeletingLoadBalancer",
		},
		{
			name: "OursThatHasAnotherClassNowIsCleanedUpAndGivenAway", service: balanced(finalized, madeAs("ours"), class("theirs")),
			want: "remove: the Service belongs to another load balancer class now | event DeletingLoadBalancer",
		},
		{
			name: "GivenAwayIsReleased", service: balanced(finalized, addressed, madeAs("ours")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "release: the load balancer is gone | finalizer removed | annotated",
		},
		{
			name: "OursThatIsDeletedWithAnotherClassIsCleanedUp", service: balanced(finalized, madeAs("ours"), class("theirs"), terminating),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "OursIsCleanedUpAlsoWithoutTheAnnotationWhileThisProcessRuns", service: balanced(held, internal), memory: known(ready),
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
	}
	for i, edit := range rows {
		rows[i].edit = func(o *observed) {
			o.policy.ClassesOnly = true
			if edit.edit != nil {
				edit.edit(o)
			}
		}
	}
	runRows(t, rows)
}

// Two managers never both act on a Service. A Service that has a load balancer of a
// class always has a manager. This is true for all classes, types and annotations of
// the Service, even if no manager remembers anything.
func TestTwoManagersNeverBothAct(t *testing.T) {
	managers := map[string]Policy{
		"a":        {Classes: list("a"), ClassesOnly: true},
		"b":        {Classes: list("b"), ClassesOnly: true},
		"no class": {},
	}
	nothing := func(*corev1.Service) {}
	states := 0
	for class, withClass := range map[string]func(*corev1.Service){"a": class("a"), "b": class("b"), "no class": nothing} {
		for made, withAnnotation := range map[string]func(*corev1.Service){"a": madeAs("a"), "b": madeAs("b"), "no class": madeAs(noClass), "": nothing} {
			for _, withType := range []func(*corev1.Service){nothing, func(s *corev1.Service) { internal(s); unclassed(s) }, terminating} {
				for _, withFinalizer := range []func(*corev1.Service){nothing, held} {
					s := balanced(withClass, withAnnotation, withType, withFinalizer)
					var acting []string
					for name, policy := range managers {
						if do := decide(observed{now: noon, service: s, backends: "set", hosts: 1, policy: policy}).do; do != doNothing && do != forget {
							acting = append(acting, name)
						}
					}
					states++
					switch {
					case len(acting) > 1:
						t.Errorf("%v act on %+v", acting, s)
					case made != "" && hasFinalizer(s) && (len(acting) != 1 || acting[0] != made):
						t.Errorf("%v acts on %+v, want %s", acting, s, made)
					case s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && made == "" && (len(acting) != 1 || acting[0] != class):
						t.Errorf("%v acts on %+v, want %s", acting, s, class)
					}
				}
			}
		}
	}
	if states != 72 {
		t.Errorf("%d states", states)
	}
}

// A Service loses its class while its daemon is stopped. A second daemon, which serves
// Services without a class, leaves the Service alone. The first daemon cleans up when it
// is started again.
func TestServiceThatLosesItsClassWhileNobodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		only := Config{Policy: Policy{Classes: list("a"), ClassesOnly: true}}
		l := begin(t, only, balanced(class("a")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if got := l.service().Annotations[AnnotationClass]; got != "a" || len(l.balancers) != 1 {
			t.Errorf("annotation %q, load balancers %v", got, l.balancers)
		}
		l.stop()
		l.update(internal, unclassed)
		l.change(func() { l.calls, l.events = nil, nil })
		l.config = Config{}
		l.start()
		l.after(time.Hour)
		l.expect("the daemon of Services without a class", nil, nil)
		l.stop()
		l.config = only
		l.start()
		l.after(time.Minute)
		l.expect("the daemon of the class", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		if s := l.service(); hasFinalizer(s) || s.Annotations[AnnotationClass] != "" || len(l.balancers) > 0 {
			t.Errorf("left over: finalizers %v, annotations %v, load balancers %v", s.Finalizers, s.Annotations, l.balancers)
		}
	})
}

// A Service that upstream has served gets the annotation with the conditions, and no
// other write follows. So does one that an earlier version has annotated or not.
func TestServiceOfUpstreamIsAnnotatedWithItsConditions(t *testing.T) {
	for _, edit := range []func(*corev1.Service){func(*corev1.Service) {}, madeAs("a"), conditioned} {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{Policy: Policy{Classes: list("a")}}, balanced(held, addressed, edit), host("a"))
			defer func() { l.stop() }()
			l.after(time.Hour)
			if got := l.patches(); got != 1 || l.service().Annotations[AnnotationClass] != noClass {
				t.Errorf("%d patches, annotations %v, want one with the annotation", got, l.service().Annotations)
			}
		})
	}
}

// An earlier process has made the load balancer. The Service gets a foreign class before
// this process has made its first call about it, because no process runs or because the
// only worker is busy. The load balancer is removed all the same.
func TestServiceThatIsGivenAwayBeforeTheFirstCall(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{}, balanced(named("busy")), balanced(), host("a"))
			defer func() { l.stop() }()
			l.after(time.Minute)
			l.stop()
			l.change(func() { l.calls, l.events = nil, nil })
			if busy {
				l.change(func() { l.takes = time.Minute })
				l.update(func(s *corev1.Service) { s.Status.Conditions = nil })
				l.start()
				l.after(time.Second)
			}
			l.update(internal)
			l.update(class("theirs"), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
			if !busy {
				l.start()
			}
			l.after(time.Hour)
			if s := l.service(); hasFinalizer(s) || len(s.Annotations)+len(s.Status.Conditions) > 0 || len(l.balancers) != 1 {
				t.Errorf("busy %v: left over: %v, %v, %+v, %v after the calls %v", busy, s.Finalizers, s.Annotations, s.Status.Conditions, l.balancers, l.calls)
			}
		})
	}
}

// The owner of a Service edits the annotation. This process knows that it has made the
// load balancer, and puts the annotation back, at most once in repairPause.
func TestEditedAnnotationIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		before := l.patches()
		for range 100 {
			l.update(madeAs("theirs"))
			l.after(time.Second)
			l.update(func(s *corev1.Service) { delete(s.Annotations, AnnotationClass) })
			l.after(5 * time.Second)
		}
		l.after(repairPause)
		l.expect("edited for ten minutes", nil, nil)
		if n := l.patches() - before; n > 4 || l.service().Annotations[AnnotationClass] != noClass {
			t.Errorf("%d patches in 15 minutes, annotations %v", n, l.service().Annotations)
		}
	})
}

// A Service whose annotation names a class that nobody serves gets no load balancer, and
// says why. When the annotation is gone, the Service is served.
func TestServiceThatNobodyServesSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(held, madeAs("nobody")), host("a"))
		defer func() { l.stop() }()
		l.after(9 * time.Minute)
		l.expect("after nine minutes", nil, nil)
		l.after(2 * time.Minute)
		l.expect("after eleven minutes", nil, list("s LoadBalancerCleanupHeld"))
		if l.patches() > 0 {
			t.Errorf("%d patches", l.patches())
		}
		l.update(func(s *corev1.Service) { s.Annotations = nil })
		l.after(time.Minute)
		l.expect("without the annotation", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
	})
}

func TestForeignAfter(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  types.UID
		service *corev1.Service
		want    types.UID
	}{
		{"ServiceOfAnotherClassIsForeign", "", balanced(class("theirs")), "u1"},
		{"ServiceOfOurClassIsNotForeign", "", balanced(class("ours")), ""},
		{"ServiceStaysForeignWhenItsClassIsRemovedWithItsType", "u1", balanced(internal), "u1"},
		{"ServiceThatWantsALoadBalancerWithoutClassIsNotForeignAnyMore", "u1", balanced(), ""},
		{"ServiceOfARetiredClassIsNotForeign", "", balanced(class("retired")), ""},
		{"SuccessorIsNotForeign", "u1", balanced(replaced, internal), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy
			p.Retired = list("retired")
			if got := p.foreignAfter(tt.before, tt.service); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

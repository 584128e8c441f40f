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
			name: "ServiceOfAnotherClassIsNotTouched", service: balanced(finalized, terminating, class("theirs")),
			want: "nothing: the Service belongs to another load balancer class | after 10m0s",
		},
		{
			name: "ServiceOfAnotherClassIsNotTouchedAfterItsTypeHasChanged", service: balanced(finalized, conditioned, internal), edit: func(o *observed) { o.foreign = true },
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "LoadBalancerFromBeforeTheClassIsRemoved", service: balanced(finalized, conditioned, class("theirs")), memory: known(ready),
			want: "remove: the Service belongs to another load balancer class now",
		},
		{
			name: "FinalizerIsRemovedAndTheAddressOfTheOtherClassStays", service: balanced(finalized, addressed, conditioned, class("theirs")),
			memory: known(ready, func(m *memory) { m.deleted = true }),
			want:   "release: this daemon provides no load balancer for the Service any more | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed",
		},
		{
			name: "ServiceOfAnotherClassIsForgottenOnceNothingIsLeft", service: balanced(addressed, class("theirs")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "forget: this daemon has no load balancer for the Service",
		},
		{
			name: "FailureWritesNoConditionOnAServiceOfAnotherClass", service: balanced(finalized, class("theirs")),
			memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want:   "wait: because | after 3s | event SyncLoadBalancerFailed",
		},
		{
			name: "ServiceOfOurClassIsServed", service: balanced(class("ours")),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring",
		},
	})
}

// A daemon that serves Services without a class leaves a Service alone if another
// daemon has made its load balancer under a class.
func TestServiceThatNamesTheClassOfItsLoadBalancer(t *testing.T) {
	runRows(t, []row{
		{
			name: "TheirsIsNotTouchedAfterItsTypeHasChanged", service: balanced(finalized, conditioned, internal, madeAs("theirs")),
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "TheirsIsNotTouchedWhileTheyCleanUp", service: balanced(finalized, madeAs("theirs")),
			want: "nothing: the Service belongs to another load balancer class",
		},
		{
			name: "AnnotationWithoutFinalizerMeansNothing", service: balanced(madeAs("theirs")),
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated",
		},
		{
			name: "OursIsCleanedUp", service: balanced(finalized, internal, madeAs("ours")),
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
		{
			name: "OursKeepsItsLoadBalancerWithoutTheClass", service: balanced(finalized, madeAs("ours")),
			want: "publish: the annotation with the class of the load balancer has to be corrected | annotated",
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
	ready := balanced(finalized, addressed, conditioned, class("ours"))
	rows := []row{
		{name: "NotServed", service: balanced(), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotTouched", service: balanced(finalized, addressed, conditioned), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotCleanedUpWhenTheTypeChanges", service: balanced(finalized, conditioned, internal), want: "nothing: the Service belongs to another load balancer class"},
		{name: "NotCleanedUpWhenDeleted", service: balanced(finalized, terminating), want: "nothing: the Service belongs to another load balancer class | after 10m0s"},
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
			want: "remove: the Service belongs to another load balancer class now",
		},
		{
			name: "OursThatHasAnotherClassNowIsCleanedUpAndGivenAway", service: balanced(finalized, madeAs("ours"), class("theirs")),
			want: "remove: the Service belongs to another load balancer class now",
		},
		{
			name: "GivenAwayIsReleased", service: balanced(finalized, addressed, madeAs("ours")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "release: this daemon provides no load balancer for the Service any more | finalizer removed | annotated",
		},
		{
			name: "OursThatIsDeletedWithAnotherClassIsCleanedUp", service: balanced(finalized, madeAs("ours"), class("theirs"), terminating),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "OursIsCleanedUpAlsoWithoutTheAnnotationWhileThisProcessRuns", service: balanced(finalized, internal), memory: known(ready),
			want: "remove: the Service belongs to another load balancer class now",
		},
		{
			name: "ForeignServiceIsNotOursByAForgedAnnotation", service: balanced(finalized, internal, madeAs("ours")), edit: func(o *observed) { o.foreign = true },
			want: "nothing: the Service belongs to another load balancer class",
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
		for made, withAnnotation := range map[string]func(*corev1.Service){"a": madeAs("a"), "b": madeAs("b"), "": nothing} {
			for _, withType := range []func(*corev1.Service){nothing, func(s *corev1.Service) { internal(s); unclassed(s) }, terminating} {
				for _, withFinalizer := range []func(*corev1.Service){nothing, finalized} {
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
	if states != 54 {
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

// After ClassesOnly is switched on, a Service that already has a load balancer gets the
// annotation in one write, and no other write follows.
func TestServiceFromBeforeTheFlagIsAnnotatedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Classes: list("a")}}, balanced(class("a")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if _, named := l.service().Annotations[AnnotationClass]; named {
			t.Error("a daemon that serves Services without a class writes the annotation")
		}
		l.stop()
		l.config.Policy.ClassesOnly = true
		l.start()
		before := l.patches()
		l.after(time.Hour)
		if got := l.patches() - before; got != 1 || l.service().Annotations[AnnotationClass] != "a" {
			t.Errorf("%d patches, annotations %v, want one for the annotation", got, l.service().Annotations)
		}
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
		{"SuccessorIsNotForeign", "u1", balanced(replaced, internal), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := policy.foreignAfter(tt.before, tt.service); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

package service

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	address = []corev1.LoadBalancerIngress{{IP: "127.64.0.1"}}
	policy  = Policy{Classes: []string{"ours"}, Resync: 10 * time.Hour}
)

// balanced is a Service that wants a load balancer.
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

func finalized(s *corev1.Service)   { s.Finalizers = []string{"other", Finalizer} }
func addressed(s *corev1.Service)   { s.Status.LoadBalancer.Ingress = address }
func terminating(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: noon} }
func internal(s *corev1.Service)    { s.Spec.Type = corev1.ServiceTypeClusterIP }
func replaced(s *corev1.Service)    { s.UID = "u2" }
func unclassed(s *corev1.Service)   { s.Spec.LoadBalancerClass = nil }
func edited(s *corev1.Service)      { s.Spec.Ports[0].Port = 81 }

func class(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = &name }
}

// conditioned shows the conditions of a load balancer that works.
func conditioned(s *corev1.Service) {
	for _, c := range []metav1.Condition{
		{Type: ConditionServing, Status: metav1.ConditionTrue, Reason: "Ready", Message: "The load balancer has an address and nodes."}, provisioned(),
	} {
		c.LastTransitionTime = metav1.NewTime(noon.Add(-time.Hour))
		s.Status.Conditions = append(s.Status.Conditions, c)
	}
}

// known is what is remembered of a load balancer that is in line.
func known(service *corev1.Service, edits ...func(*memory)) memory {
	m := memory{
		uid: service.UID, service: service, wanted: shapeOf(service), backends: "set", ensuredAt: noon.Add(-time.Hour),
		status: &corev1.LoadBalancerStatus{Ingress: address}, published: true,
	}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func hasFailed(during step, of *corev1.Service, ago time.Duration) func(*memory) {
	return func(m *memory) {
		*m = m.failed(noon.Add(-ago), during, of, refusal{reason: "CloudFailed", message: "because", text: "no"}, 0)
	}
}

// outcome is what a test row says about a plan.
type outcome struct {
	Do         step
	Why        string
	Quiet      bool
	After      time.Duration
	Events     []string
	Ingress    *[]corev1.LoadBalancerIngress
	Conditions []string
	Drop       []string
	Release    bool
}

func outcomeOf(p plan) outcome {
	got := outcome{
		Do: p.do, Why: p.why, Quiet: p.quiet, After: p.after, Ingress: p.writes.ingress, Drop: p.writes.drop, Release: p.writes.release,
	}
	for _, e := range p.writes.events {
		got.Events = append(got.Events, e.reason)
	}
	for _, c := range p.writes.conditions {
		got.Conditions = append(got.Conditions, c.Type+" "+string(c.Status)+" "+c.Reason)
	}
	return got
}

func TestDecide(t *testing.T) {
	fresh, ready := balanced(), balanced(finalized, addressed, conditioned)
	none := []corev1.LoadBalancerIngress{}
	both := []string{ConditionServing, ConditionProvisioning}
	resync := 8 * time.Hour // ten hours less a tenth less the hour that has passed
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		edit    func(*observed)
		want    outcome
	}{
		{
			name: "FinalizerComesFirst", service: fresh,
			want: outcome{Do: addFinalizer, Why: "a load balancer is about to exist", Conditions: []string{"LoadBalancerProvisioning True Ensuring"}},
		},
		{
			name: "NoConditionsWhereSomebodyElseProvides", service: fresh, edit: func(o *observed) { o.elsewhere = true },
			want: outcome{Do: addFinalizer, Why: "a load balancer is about to exist"},
		},
		{
			name: "ThenTheCloudIsCalled", service: balanced(finalized),
			want: outcome{Do: ensure, Why: "the Service has no load balancer yet", Events: []string{"EnsuringLoadBalancer"}},
		},
		{
			name: "OnceAnnounced", service: balanced(finalized), memory: memory{uid: "u1", announced: shapeOf(fresh)},
			want: outcome{Do: ensure, Why: "the Service has no load balancer yet"},
		},
		{
			name: "AfterARestartNothingIsNews", service: ready,
			want: outcome{Do: ensure, Why: "this process has not seen the load balancer yet", Quiet: true},
		},
		{
			name: "ThenTheAddressIsShown", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.published = false }),
			want: outcome{
				Do: publish, Why: "the address has changed", Ingress: &address,
				Conditions: []string{"LoadBalancerServing True Ready", "LoadBalancerProvisioning False Provisioned"},
			},
		},
		{name: "ThenNothing", service: ready, memory: known(ready), want: outcome{Do: nothing, Why: "up to date", After: resync}},
		{
			name: "TheModeVIPIsTheDefault", memory: known(ready), service: balanced(finalized, conditioned, func(s *corev1.Service) {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.64.0.1", IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}}
			}), want: outcome{Do: nothing, Why: "up to date", After: resync},
		},
		{
			name: "AChangeIsEnsured", service: balanced(finalized, addressed, conditioned, edited), memory: known(ready),
			want: outcome{Do: ensure, Why: "the Service has changed", Events: []string{"EnsuringLoadBalancer"}},
		},
		{
			name: "OtherNodesAreAnUpdate", service: ready, memory: known(ready, func(m *memory) { m.backends = "old" }),
			want: outcome{Do: update, Why: "the set of nodes has changed"},
		},
		{
			name: "NoNodesAreNotServing", service: ready, memory: known(ready), edit: func(o *observed) { o.hosts = 0 },
			want: outcome{Do: publish, Why: "the conditions have changed", Conditions: []string{"LoadBalancerServing False NoNodes"}},
		},
		{
			name: "AnotherReasonIsShownInTime", memory: known(ready), edit: func(o *observed) { o.hosts = 0 },
			service: balanced(finalized, addressed, conditioned, func(s *corev1.Service) {
				*conditionOf(s, ConditionServing) = metav1.Condition{
					Type: ConditionServing, Status: metav1.ConditionFalse, Reason: "NotProvisioned", LastTransitionTime: metav1.NewTime(noon.Add(-20 * time.Second)),
				}
			}), want: outcome{Do: nothing, Why: "a condition was written a short time ago", After: 40 * time.Second},
		},
		{
			name: "NoAddressIsNotServing", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.status = &corev1.LoadBalancerStatus{} }),
			want: outcome{
				Do: publish, Why: "the conditions have changed",
				Conditions: []string{"LoadBalancerServing False NoAddress", "LoadBalancerProvisioning False Provisioned"},
			},
		},
		{
			name: "ResyncIsQuiet", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = noon.Add(-9 * time.Hour) }),
			want: outcome{Do: ensure, Why: "it is time to compare with the cloud", Quiet: true},
		},
		{
			name: "ResyncsAreSpread", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = noon.Add(-9 * time.Hour) }),
			edit: func(o *observed) { o.spread = 0.5 }, want: outcome{Do: nothing, Why: "up to date", After: time.Hour},
		},
		{
			name: "NoResync", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = time.Time{} }),
			edit: func(o *observed) { o.policy.Resync = 0 }, want: outcome{Do: nothing, Why: "up to date"},
		},
		{
			name: "ForeignClassIsNotTouched", service: balanced(finalized, terminating, class("theirs")),
			want: outcome{Do: nothing, Why: "the Service belongs to another load balancer class"},
		},
		{
			name: "NorWhenItsClassGoesWithItsType", service: balanced(finalized, conditioned, internal), edit: func(o *observed) { o.wasForeign = true },
			want: outcome{Do: nothing, Why: "the Service belongs to another load balancer class"},
		},
		{
			name: "WhatWasOursBeforeGoes", service: balanced(finalized, conditioned, class("theirs")), memory: known(ready),
			want: outcome{Do: remove, Why: "the Service belongs to another load balancer class now"},
		},
		{
			name: "ThenTheFinalizerAndNotTheirAddress", service: balanced(finalized, addressed, conditioned, class("theirs")),
			memory: known(ready, func(m *memory) { m.deleted = true }),
			want:   outcome{Do: release, Why: "nothing is left of the load balancer that the Service had here", Release: true, Drop: both},
		},
		{
			name: "ThenNothingElse", service: balanced(addressed, class("theirs")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: outcome{Do: forget, Why: "nothing is left of a load balancer"},
		},
		{
			name: "FailureOfItIsNoConditionOfTheirs", service: balanced(finalized, class("theirs")),
			memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want:   outcome{Do: wait, Why: "because", After: 3 * time.Second, Events: []string{"SyncLoadBalancerFailed"}},
		},
		{
			name: "OurClassIsServed", service: balanced(class("ours")),
			want: outcome{Do: addFinalizer, Why: "a load balancer is about to exist", Conditions: []string{"LoadBalancerProvisioning True Ensuring"}},
		},
		{
			name: "DeletionCallsTheCloudFirst", service: balanced(finalized, addressed, terminating), memory: known(ready),
			want: outcome{Do: remove, Why: "the Service is being deleted", Events: []string{"DeletingLoadBalancer"}},
		},
		{
			name: "AlsoByAProcessThatKnowsNothing", service: balanced(finalized, terminating),
			want: outcome{Do: remove, Why: "the Service is being deleted", Events: []string{"DeletingLoadBalancer"}},
		},
		{
			name: "ThenTheFinalizerGoes", service: balanced(finalized, addressed, conditioned, terminating),
			memory: known(ready, func(m *memory) { m.deleted, m.wanted = true, "" }),
			want:   outcome{Do: release, Why: "the load balancer is gone", Release: true, Ingress: &none, Drop: both},
		},
		{
			name: "AnotherTypeIsALeave", service: balanced(finalized, internal),
			want: outcome{Do: remove, Why: "the Service is of another type now", Events: []string{"DeletingLoadBalancer"}},
		},
		{
			name: "ItsConditionsGoToo", service: balanced(conditioned, internal),
			want: outcome{Do: release, Why: "the load balancer is gone", Drop: both},
		},
		{name: "NothingIsLeft", service: balanced(internal), want: outcome{Do: forget, Why: "nothing is left of a load balancer"}},
		{
			name: "LostFinalizerDoesNotLoseTheLoadBalancer", service: balanced(terminating), memory: known(ready),
			want: outcome{Do: remove, Why: "the Service is being deleted", Events: []string{"DeletingLoadBalancer"}},
		},
		{
			name: "NorDoesALostObject", memory: known(ready),
			want: outcome{Do: remove, Why: "the Service is gone and its load balancer may still exist"},
		},
		{name: "WhichIsForgottenThen", memory: known(ready, func(m *memory) { m.deleted = true }), want: outcome{Do: forget, Why: "there is no such Service"}},
		{
			name: "SuccessorWaitsForTheOldOne", service: balanced(replaced), memory: known(ready),
			want: outcome{Do: remove, Why: "another Service has taken over the name, and the load balancer of the former may still exist"},
		},
		{
			name: "AndSaysSo", service: balanced(replaced), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: outcome{
				Do: wait, Why: "because", After: 3 * time.Second, Events: []string{"SyncLoadBalancerFailed"},
				Conditions: []string{"LoadBalancerProvisioning True CloudFailed", "LoadBalancerServing False NotProvisioned"},
			},
		},
		{
			name: "UnlessItWantsNone", service: balanced(replaced, internal), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: outcome{Do: wait, Why: "because", After: 3 * time.Second, Events: []string{"SyncLoadBalancerFailed"}},
		},
		{name: "SuccessorsTurn", service: balanced(replaced), memory: known(ready, func(m *memory) { m.deleted = true }), want: outcome{Do: forget, Why: "there is no such Service"}},
		{
			name: "FailureWaits", service: balanced(finalized), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want: outcome{
				Do: wait, Why: "because", After: 3 * time.Second, Events: []string{"SyncLoadBalancerFailed"},
				Conditions: []string{"LoadBalancerProvisioning True CloudFailed", "LoadBalancerServing False NotProvisioned"},
			},
		},
		{
			name: "AndIsToldOnce", service: balanced(finalized),
			memory: memory{uid: "u1", told: notice{"CloudFailed", noon.Add(-time.Minute)}}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want: outcome{
				Do: wait, Why: "because", After: 3 * time.Second,
				Conditions: []string{"LoadBalancerProvisioning True CloudFailed", "LoadBalancerServing False NotProvisioned"},
			},
		},
		{
			name: "OfAnotherReasonInTime", memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, 0), func(m *memory) { m.failure.until = noon.Add(time.Hour) }),
			service: balanced(finalized, func(s *corev1.Service) {
				for _, c := range []metav1.Condition{provisioning(refusalOfWork()), notServing(refusalOfWork())} {
					c.LastTransitionTime = metav1.NewTime(noon.Add(-20 * time.Second))
					s.Status.Conditions = append(s.Status.Conditions, c)
				}
			}), want: outcome{Do: wait, Why: "because", After: 40 * time.Second, Events: []string{"SyncLoadBalancerFailed"}},
		},
		{
			name: "ThenItIsTriedAgain", service: balanced(finalized), memory: memory{uid: "u1", announced: shapeOf(fresh)}.with(hasFailed(ensure, fresh, 5*time.Second)),
			want: outcome{Do: ensure, Why: "the Service has no load balancer yet"},
		},
		{
			name: "AnotherShapeIsTriedAtOnce", service: balanced(finalized, edited), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, time.Second)),
			want: outcome{Do: ensure, Why: "the Service has no load balancer yet", Events: []string{"EnsuringLoadBalancer"}},
		},
		{
			name: "DeletionIsTriedAtOnce", service: balanced(finalized, terminating), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, time.Second)),
			want: outcome{Do: remove, Why: "the Service is being deleted", Events: []string{"DeletingLoadBalancer"}},
		},
		{
			name: "AlsoOfALostObject", memory: known(ready).with(hasFailed(ensure, ready, time.Second)),
			want: outcome{Do: remove, Why: "the Service is gone and its load balancer may still exist"},
		},
		{
			name: "FailureOfALoadBalancerThatServesSaysNothingElse", service: ready, memory: known(ready).with(hasFailed(update, ready, 0), func(m *memory) { m.backends = "old" }),
			want: outcome{
				Do: wait, Why: "because", After: 5 * time.Second, Events: []string{"UpdateLoadBalancerFailed"},
				Conditions: []string{"LoadBalancerProvisioning True CloudFailed"},
			},
		},
		{
			name: "LostFinalizerIsPutBack", service: balanced(addressed, conditioned), memory: known(ready),
			want: outcome{Do: addFinalizer, Why: "somebody has removed the finalizer", Events: []string{"LoadBalancerStatusContested"}},
		},
		{
			name: "ButNotAllTheTime", service: balanced(addressed, conditioned), memory: known(ready, func(m *memory) { m.repairedAt = noon.Add(-time.Minute) }),
			want: outcome{Do: wait, Why: "the finalizer was put back a short time ago", After: 4 * time.Minute},
		},
		{
			name: "LostFinalizerOfWhatHasFailedIsPutBack", service: balanced(), memory: memory{uid: "u1", service: fresh}.with(hasFailed(ensure, fresh, time.Second)),
			want: outcome{Do: addFinalizer, Why: "somebody has removed the finalizer", Events: []string{"LoadBalancerStatusContested"}},
		},
		{
			name: "LostConditionsArePutBack", service: balanced(finalized, addressed), memory: known(ready, func(m *memory) {
				m.stated, m.worded = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue}, noon.Add(-5*time.Minute)
			}),
			want: outcome{
				Do: publish, Why: "the conditions have changed",
				Conditions: []string{"LoadBalancerServing True Ready", "LoadBalancerProvisioning False Provisioned"},
			},
		},
		{
			name: "LikeTheFinalizer", service: balanced(finalized, addressed), memory: known(ready, func(m *memory) {
				m.stated = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue, ConditionProvisioning: metav1.ConditionFalse}
				m.worded = noon.Add(-4 * time.Minute)
			}),
			want: outcome{Do: nothing, Why: "a condition was written a short time ago", After: time.Minute},
		},
		{
			name: "WhatIsNewIsWrittenAtOnce", service: balanced(finalized, addressed, conditioned), edit: func(o *observed) { o.hosts = 0 },
			memory: known(ready, func(m *memory) {
				m.stated = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue, ConditionProvisioning: metav1.ConditionFalse}
				m.worded = noon
			}),
			want: outcome{Do: publish, Why: "the conditions have changed", Conditions: []string{"LoadBalancerServing False NoNodes"}},
		},
		{
			name: "LostAddressIsPutBack", service: balanced(finalized, conditioned), memory: known(ready),
			want: outcome{Do: publish, Why: "somebody has changed the address", Ingress: &address, Events: []string{"LoadBalancerStatusContested"}},
		},
		{
			name: "NotAllTheTimeEither", service: balanced(finalized, conditioned), memory: known(ready, func(m *memory) { m.repairedAt = noon.Add(-time.Minute) }),
			want: outcome{Do: wait, Why: "the address was put back a short time ago", After: 4 * time.Minute},
		},
		{
			name: "SomebodyElseProvides", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.elsewhere, m.backends = true, "" }),
			want: outcome{Do: nothing, Why: "somebody else provides the load balancer"},
		},
		{
			name: "WithoutOurConditions", service: balanced(finalized, conditioned), memory: known(fresh, func(m *memory) { m.elsewhere = true }),
			want: outcome{Do: publish, Why: "somebody else provides the load balancer, and its conditions are not ours", Drop: both},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, service: tt.service, backends: "set", hosts: 1, memory: tt.memory, policy: policy}
			if tt.edit != nil {
				tt.edit(&o)
			}
			before := tt.service.DeepCopy()
			got := decide(o)
			if diff := cmp.Diff(tt.want, outcomeOf(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.service); diff != "" {
				t.Errorf("decide has changed the informer's Service:\n%s", diff)
			}
		})
	}
}

func (m memory) with(edits ...func(*memory)) memory {
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func TestForWhomARetryIs(t *testing.T) {
	s := balanced(finalized)
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		awaited bool
	}{
		{"NewService", s, memory{uid: "u1"}.with(hasFailed(ensure, s, 0)), true},
		{"NewServiceThatHasFailedForLong", s, memory{uid: "u1"}.with(hasFailed(ensure, s, longestRetry), hasFailed(ensure, s, 0)), false},
		{"EditedService", balanced(finalized, edited), known(s).with(hasFailed(ensure, balanced(edited), 0)), true},
		{"DeletedService", balanced(finalized, terminating), known(s).with(hasFailed(remove, balanced(terminating), 0)), true},
		{"ServiceThatWasLost", nil, known(s).with(hasFailed(remove, s, 0)), true},
		{"NodesOrAComparison", s, known(s).with(hasFailed(ensure, s, 0)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(observed{now: noon, service: tt.service, backends: "set", hosts: 1, memory: tt.memory, policy: policy})
			if p.do != wait || p.awaited != tt.awaited {
				t.Errorf("%v, awaited %v, want to wait, awaited %v", p.do, p.awaited, tt.awaited)
			}
		})
	}
}

func TestReasonOfAConditionDoesNotFlap(t *testing.T) {
	for _, tt := range []struct {
		name                string
		transition, written time.Duration // so long ago
		later               time.Duration // when it is due; 0: now
	}{
		{"WithinAMinuteOfItsTransition", 59 * time.Second, time.Hour, time.Second},
		{"AfterThat", time.Minute, time.Hour, 0},
		{"WhateverTheClockOfTheWriterSays", -time.Hour, time.Hour, time.Minute},
		{"WithinAMinuteOfOtherWords", time.Hour, 20 * time.Second, 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := balanced(func(s *corev1.Service) {
				s.Status.Conditions = []metav1.Condition{{
					Type: ConditionProvisioning, Status: metav1.ConditionTrue, Reason: "CloudDenied", LastTransitionTime: metav1.NewTime(noon.Add(-tt.transition)),
				}}
			})
			o := observed{service: s, now: noon, memory: memory{worded: noon.Add(-tt.written)}}
			differ, later := outdated(o, provisioning(refusal{reason: "CloudSlow"}))
			if (len(differ) == 0) != (tt.later > 0) || later != tt.later {
				t.Errorf("%d conditions to write, others in %v, want them in %v", len(differ), later, tt.later)
			}
		})
	}
}

func TestDelaysGrow(t *testing.T) {
	var m memory
	s := balanced()
	for n, seconds := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		want := time.Duration(seconds) * time.Second
		m = m.failed(noon, ensure, s, refusal{reason: "CloudFailed"}, 0)
		if got := m.failure.until.Sub(noon); got != want {
			t.Errorf("delay %v after failure %d, want %v", got, n+1, want)
		}
	}
	if m = m.failed(noon, ensure, s, refusal{}, 7*time.Second); !m.failure.until.Equal(noon.Add(7 * time.Second)) {
		t.Errorf("delay %v, want the provider's own", m.failure.until.Sub(noon))
	}
	m = memory{}
	for range 20 {
		m = m.failed(noon, ensure, s, refusal{}, 2*time.Second)
	}
	if m = m.failed(noon, ensure, s, refusal{}, 0); !m.failure.until.Equal(noon.Add(5 * time.Second)) {
		t.Errorf("delay %v after pauses that the provider asked for, want the first", m.failure.until.Sub(noon))
	}
	if m = m.failed(noon, remove, s, refusal{}, 0); !m.failure.until.Equal(noon.Add(5 * time.Second)) {
		t.Errorf("delay %v of another call, want the first", m.failure.until.Sub(noon))
	}
}

func TestShape(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edit    func(*corev1.Service)
		matters bool
	}{
		{"Annotation", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }, true},
		{"Port", edited, true},
		{"NodePort", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 1 }, true},
		{"Affinity", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, true},
		{"SourceRanges", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }, true},
		{"TrafficPolicy", func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }, true},
		{"HealthCheckNodePort", func(s *corev1.Service) { s.Spec.HealthCheckNodePort = 1 }, true},
		{"NodePortAllocation", func(s *corev1.Service) { s.Spec.AllocateLoadBalancerNodePorts = new(false) }, true},
		{"FamilyPolicy", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack) }, true},
		{"OrderOfFamilies", func(s *corev1.Service) {
			s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
		}, true},
		{"TrafficDistribution", func(s *corev1.Service) { s.Spec.TrafficDistribution = new("PreferClose") }, true},
		{"Label", func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }, false},
		{"Selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }, false},
		{"Status", addressed, false},
		{"Finalizer", finalized, false},
		{"PublishNotReadyAddresses", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shapeOf(balanced(tt.edit)) != shapeOf(balanced()); got != tt.matters {
				t.Errorf("matters: %v, want %v", got, tt.matters)
			}
		})
	}
}

func TestManagerIsNamed(t *testing.T) {
	s := balanced(func(s *corev1.Service) {
		for manager, fields := range map[string]string{"them": `{"f:status":{"f:loadBalancer":{}}}`, "us": `{"f:spec":{}}`} {
			f := metav1.FieldsV1{}
			f.SetRawBytes([]byte(fields))
			s.ManagedFields = append(s.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: &f})
		}
	})
	if got := managerOf(s, "f:loadBalancer"); got != "them" {
		t.Errorf("manager %q, want the one that owns the field", got)
	}
	if got := managerOf(balanced(), "f:loadBalancer"); got != "unknown" {
		t.Errorf("manager %q of nobody's field", got)
	}
}

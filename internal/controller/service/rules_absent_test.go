package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// showsThat gives a Service a condition with this reason.
func showsThat(conditionType, reason string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason})
	}
}

// cannotBeRemoved returns the memory after removals that have failed for 70 seconds, for
// reasons that do not end by themselves. The next removal is due in 30 seconds.
func cannotBeRemoved(service *corev1.Service, edits ...func(*memory)) memory {
	f := failure{
		cause: reasonCloudFailed.Cause("because"), text: "no", during: remove, shape: shapeFor(service), attempts: 4, delays: 4, lasting: 4,
		since: noon.Add(-70 * time.Second), lastingSince: noon.Add(-70 * time.Second), until: noon.Add(30 * time.Second),
	}
	return memory{uid: service.UID, service: service, failure: f, recorded: news{"CloudFailed remove": noon}, announced: shapeFor(service)}.with(edits...)
}

// notFound is a memory in which the cloud has found no load balancer.
func notFound(times int, ago time.Duration) func(*memory) {
	return func(m *memory) { m.search = search{times, noon.Add(-ago)} }
}

func TestServiceThatNeverGotALoadBalancer(t *testing.T) {
	const (
		asked    = "find: the load balancer cannot be deleted, and may not exist | routine"
		released = "release: the cloud finds no load balancer, and the Service never had one | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed | annotated | event LoadBalancerNeverMade"
		stays    = "wait: because The cloud finds no load balancer of this Service, but one may exist or may be half-made. Check in the cloud that there is none. " +
			"Then remove the finalizer service.kubernetes.io/load-balancer-cleanup from the Service. | after 30s | LoadBalancerProvisioning True CloudFailed"
		none = " | LoadBalancerServing False NotProvisioned"
	)
	waits := func(after string) string { return "wait: because | after " + after }
	gone := balanced(finalized, terminating)
	gone.Status.Conditions = waitingConditions(observed{service: gone, memory: memory{uid: "u1"}}, reasonCloudFailed.Cause("because"))
	shown := gone.DeepCopy()
	addressed(shown)
	stuck := func(edits ...func(*memory)) memory { return cannotBeRemoved(gone, edits...) }
	runRows(t, []row{
		{name: "CloudIsAskedAfterAMinuteOfFailures", service: gone, memory: stuck(), want: asked},
		{name: "NotBeforeThreeFailures", service: gone, memory: stuck(func(m *memory) { m.failure.lasting = 2 }), want: waits("30s")},
		{name: "NotBeforeAMinute", service: gone, memory: stuck(func(m *memory) { m.failure.lastingSince = noon.Add(-50 * time.Second) }), want: waits("10s")},
		{name: "NotWhileTheFailuresMayEnd", service: gone, memory: stuck(func(m *memory) { m.failure.lasting = 0 }), want: waits("30s")},
		{name: "NotForAServiceOfAnotherType", service: balanced(finalized, internal), memory: stuck(), want: "wait: because | after 30s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned"},
		{name: "RemovalThatIsDueComesFirst", service: gone, memory: stuck(func(m *memory) { m.failure.until = noon }), want: "remove: the Service is being deleted"},
		{name: "OneAnswerIsTooFew", service: gone, memory: stuck(notFound(1, 59*time.Second)), want: waits("1s")},
		{name: "CloudIsAskedAgainAfterAMinute", service: gone, memory: stuck(notFound(1, time.Minute)), want: asked},
		{name: "CloudThatFindsOneIsAskedAgainAfterFiveMinutes", service: gone, memory: stuck(notFound(0, 299*time.Second)), want: waits("1s")},
		{name: "ReleasedAfterTwoAnswers", service: gone, memory: stuck(notFound(2, 0)), want: released},
		{name: "ReleasedAlthoughARemovalIsDue", service: gone, memory: stuck(notFound(2, 0), func(m *memory) { m.failure.until = noon }), want: released},
		{name: "ServiceOfAnotherTypeIsNotReleased", service: balanced(finalized, internal), memory: stuck(notFound(2, 0)), want: "wait: because | after 30s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned"},
		{name: "NotReleasedWhileTheFailuresMayEnd", service: gone, memory: stuck(notFound(2, 0), func(m *memory) { m.failure.lasting = 0 }), want: waits("30s")},
		{name: "ServiceThatHadOneStays", service: gone, memory: stuck(notFound(2, 0), func(m *memory) { m.mayExist = true }), want: stays + none},
		{name: "ServiceWithAnAddressStays", service: shown, memory: stuck(notFound(2, 0)), want: stays},
		{name: "ServiceWhoseAddressIsKnownStays", service: gone, memory: stuck(notFound(2, 0), func(m *memory) { m.status = &corev1.LoadBalancerStatus{} }), want: stays},
		{
			name: "ServiceThatHasShownAnAddressStays", service: gone, memory: stuck(notFound(2, 0)),
			edit: func(o *observed) { o.shown = shownAddress{"u1", corev1.LoadBalancerStatus{Ingress: address}} }, want: stays + none,
		},
		{name: "ServiceThatShowsThatItHasOneStays", service: balanced(finalized, terminating, showsThat(ConditionServing, "NoAddress")), memory: stuck(notFound(2, 0)), want: stays},
		{
			name: "OrphanIsNotReleased", memory: cannotBeRemoved(balanced(finalized), notFound(1, 0)),
			want: "wait: because | after 30s",
		},
		{
			name: "OrphanThatItsOwnerHasReleasedIsForgotten", memory: cannotBeRemoved(balanced(finalized), notFound(2, 0)),
			want: "forget: there is no such Service",
		},
		{
			name: "OrphanIsNotForgottenWhileTheFailuresMayEnd", memory: cannotBeRemoved(balanced(finalized), notFound(2, 0), func(m *memory) { m.failure.lasting = 0 }),
			want: "wait: because | after 30s",
		},
	})
}

func TestWhatShowsThatALoadBalancerMayExist(t *testing.T) {
	fails := func(lasts bool) outcome {
		return outcome{result: failed, at: noon, lasts: lasts, cause: reasonCloudFailed.Cause("because")}
	}
	done := outcome{result: succeeded, at: noon, status: &corev1.LoadBalancerStatus{}}
	begun := balanced(finalized, showsThat(ConditionProvisioning, "Ensuring"))
	ours := memory{uid: "u1", written: map[string]metav1.ConditionStatus{ConditionProvisioning: metav1.ConditionTrue}}
	for _, tt := range []struct {
		name    string
		do      action
		service *corev1.Service
		memory  memory
		outcome outcome
		want    bool
	}{
		{"RefusedEnsureMakesNone", ensure, begun, ours, fails(true), false},
		{"EnsureThatSucceeds", ensure, begun, ours, done, true},
		{"EnsureWithoutAnAnswer", ensure, begun, ours, fails(false), true},
		{"UpdateThatSucceeds", update, begun, ours, done, true},
		{"UpdateThatFails", update, begun, ours, fails(true), true},
		{"FailedRemovalMakesNone", remove, begun, ours, fails(false), false},
		{"EnsureOfAnEarlierProcessMayHaveBeenCutOff", remove, begun, memory{uid: "u1"}, fails(true), true},
		{"SlowEnsureOfAnEarlierProcess", remove, balanced(finalized, showsThat(ConditionProvisioning, "InProgress")), memory{uid: "u1"}, fails(true), true},
		{"EnsureOfAnEarlierProcessWasRefused", remove, balanced(finalized, showsThat(ConditionProvisioning, "CloudRejected")), memory{uid: "u1"}, fails(true), false},
		{"EarlierProcessHasMadeOne", ensure, balanced(finalized, showsThat(ConditionServing, "NoNodes")), memory{uid: "u1"}, fails(true), true},
		{"NothingIsKnownOnceItIsGone", remove, begun, ours.with(func(m *memory) { m.mayExist = true }), done, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := conclude(plan{do: tt.do, service: tt.service, memory: tt.memory}, tt.outcome)
			if m.mayExist != tt.want {
				t.Errorf("may exist: %v, want %v", m.mayExist, tt.want)
			}
		})
	}
}

func TestAnswersToTheSearch(t *testing.T) {
	gone := balanced(finalized, terminating)
	before := cannotBeRemoved(gone, notFound(1, time.Minute))
	for _, tt := range []struct {
		name    string
		do      action
		outcome outcome
		want    search
	}{
		{"AbsenceCounts", find, outcome{result: succeeded, at: noon}, search{2, noon}},
		{"PresenceResets", find, outcome{result: succeeded, at: noon, exists: true}, search{0, noon}},
		{"FailureResets", find, outcome{result: failed, at: noon}, search{0, noon}},
		{"AnotherFailureOfTheRemovalResetsNothing", remove, outcome{result: failed, at: noon, lasts: true}, search{1, noon.Add(-time.Minute)}},
		{"FailureThatMayEndResets", remove, outcome{result: failed, at: noon}, search{}},
		{"RemovalResets", remove, outcome{result: succeeded, at: noon}, search{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := conclude(plan{do: tt.do, service: gone, memory: before}, tt.outcome)
			if m.search != tt.want {
				t.Errorf("got %+v, want %+v", m.search, tt.want)
			}
			if lasting := m.failure.lasting; tt.do == remove && tt.outcome.lasts != (lasting > 4) || tt.do == find && lasting != 4 {
				t.Errorf("%d failures in a row", lasting)
			}
		})
	}
}

// The condition of a load balancer without an address is the only trace that it has left
// on the Service.
func TestTraceOfALoadBalancerStaysWhileEnsureFails(t *testing.T) {
	of := balanced(finalized, showsThat(ConditionServing, "NoAddress"))
	o := observed{now: noon, service: of, memory: memory{uid: "u1"}, policy: policy}
	if got := waitingConditions(o, reasonCloudFailed.Cause("because")); len(got) != 1 || got[0].Type != ConditionProvisioning {
		t.Errorf("conditions %+v, want only %s", got, ConditionProvisioning)
	}
}

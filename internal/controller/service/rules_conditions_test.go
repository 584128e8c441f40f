package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditions(t *testing.T) {
	fresh := balanced()
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "LoadBalancerWithoutNodesIsNotServing", service: ready, memory: known(ready), edit: func(o *observed) { o.hosts = 0 },
			want: "publish: the conditions have changed | LoadBalancerServing False NoNodes",
		},
		{
			name: "AnotherReasonIsWrittenAfterAPause", memory: known(ready), edit: func(o *observed) { o.hosts = 0 },
			service: balanced(finalized, addressed, conditioned, func(s *corev1.Service) {
				*findCondition(s, ConditionServing) = metav1.Condition{
					Type: ConditionServing, Status: metav1.ConditionFalse, Reason: "NotProvisioned", LastTransitionTime: metav1.NewTime(noon.Add(-20 * time.Second)),
				}
			}), want: "nothing: a condition was written a short time ago | after 40s",
		},
		{
			name: "LoadBalancerWithoutAddressIsNotServing", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.status = &corev1.LoadBalancerStatus{} }),
			want: "publish: the conditions have changed | LoadBalancerServing False NoAddress | LoadBalancerProvisioning False Provisioned",
		},
		{
			name: "AnotherReasonOfAFailureIsWrittenAfterAPause", memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, 0), func(m *memory) { m.failure.until = noon.Add(time.Hour) }),
			service: balanced(finalized, func(s *corev1.Service) {
				for _, c := range []metav1.Condition{provisioning(inProgressCause()), notProvisioned(inProgressCause())} {
					c.LastTransitionTime = metav1.NewTime(noon.Add(-20 * time.Second))
					s.Status.Conditions = append(s.Status.Conditions, c)
				}
			}), want: "wait: because | after 40s | event SyncLoadBalancerFailed",
		},
		{
			name: "AnnouncementOfACallIsReplacedAtOnce", memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, 0), func(m *memory) { m.writtenAt = noon }),
			service: balanced(finalized, func(s *corev1.Service) {
				c := provisioning(ensuringCause())
				c.LastTransitionTime = metav1.NewTime(noon)
				s.Status.Conditions = append(s.Status.Conditions, c)
			}), want: "wait: because | after 5s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "FailureDoesNotChangeWhetherALoadBalancerServes", service: ready, memory: known(ready).with(hasFailed(update, ready, 0), func(m *memory) { m.backends = "old" }),
			want: "wait: because | after 5s | LoadBalancerProvisioning True CloudFailed",
		},
		{
			name: "RemovedConditionsArePutBack", service: balanced(finalized, addressed), memory: known(ready, func(m *memory) {
				m.written, m.writtenAt = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue}, noon.Add(-5*time.Minute)
			}),
			want: "publish: the conditions have changed | LoadBalancerServing True Ready | LoadBalancerProvisioning False Provisioned",
		},
		{
			name: "RemovedConditionsAreNotPutBackAgainWithinThePause", service: balanced(finalized, addressed), memory: known(ready, func(m *memory) {
				m.written = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue, ConditionProvisioning: metav1.ConditionFalse}
				m.writtenAt = noon.Add(-4 * time.Minute)
			}),
			want: "nothing: a condition was written a short time ago | after 1m0s",
		},
		{
			name: "AnotherStatusIsWrittenAtOnce", service: balanced(finalized, addressed, conditioned), edit: func(o *observed) { o.hosts = 0 },
			memory: known(ready, func(m *memory) {
				m.written = map[string]metav1.ConditionStatus{ConditionServing: metav1.ConditionTrue, ConditionProvisioning: metav1.ConditionFalse}
				m.writtenAt = noon
			}),
			want: "publish: the conditions have changed | LoadBalancerServing False NoNodes",
		},
		{
			name: "ConditionsAreRemovedIfSomebodyElseProvides", service: balanced(finalized, conditioned), memory: known(fresh, func(m *memory) { m.elsewhere = true }),
			want: "publish: somebody else provides the load balancer, so our conditions are removed | drop LoadBalancerServing, LoadBalancerProvisioning",
		},
	})
}

func TestReasonOfAConditionIsNotRewrittenTooOften(t *testing.T) {
	for _, tt := range []struct {
		name                string
		transition, written time.Duration // the time since the transition, and the time since the last write
		later               time.Duration // the time until the next write; 0 if it is made now
	}{
		{"WithinAMinuteOfItsTransition", 59 * time.Second, time.Hour, time.Second},
		{"AMinuteAfterItsTransition", time.Minute, time.Hour, 0},
		{"WhenTheClockOfTheWriterIsAhead", -time.Hour, time.Hour, time.Minute},
		{"WithinAMinuteOfAnotherWrite", time.Hour, 20 * time.Second, 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := balanced(func(s *corev1.Service) {
				s.Status.Conditions = []metav1.Condition{{
					Type: ConditionProvisioning, Status: metav1.ConditionTrue, Reason: "CloudDenied", LastTransitionTime: metav1.NewTime(noon.Add(-tt.transition)),
				}}
			})
			o := observed{service: s, now: noon, memory: memory{writtenAt: noon.Add(-tt.written)}}
			differ, later := outdated(o, provisioning(reasonSlow.Cause("")))
			if (len(differ) == 0) != (tt.later > 0) || later != tt.later {
				t.Errorf("%d conditions to write, others in %v, want them in %v", len(differ), later, tt.later)
			}
			if len(differ) > 0 && !differ[0].LastTransitionTime.Time.Equal(noon.Add(-tt.transition)) {
				t.Errorf("transition at %v, want that of the status, which stays", differ[0].LastTransitionTime)
			}
		})
	}
}

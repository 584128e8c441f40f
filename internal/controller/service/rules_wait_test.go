package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestWait(t *testing.T) {
	fresh := balanced()
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "FailedCallWaits", service: balanced(finalized), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want: "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "FailureIsRecordedOnce", service: balanced(finalized),
			memory: memory{uid: "u1", recorded: showing.News{"CloudFailed": noon.Add(-time.Minute)}}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want:   "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned",
		},
		{
			name: "FailureIsRecordedAgainAfterHalfAnHour", service: balanced(finalized),
			memory: memory{uid: "u1", recorded: showing.News{"CloudFailed": noon.Add(-30 * time.Minute)}}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want:   "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "AnotherReasonIsRecorded", service: balanced(finalized),
			memory: memory{uid: "u1", recorded: showing.News{"CloudDenied": noon.Add(-time.Minute)}}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want:   "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "ReasonThatComesBackWaitsForHalfAnHourAfterAnyOther", service: balanced(finalized),
			memory: memory{uid: "u1", recorded: showing.News{"CloudFailed": noon.Add(-time.Hour), "CloudDenied": noon.Add(-29 * time.Minute)}}.with(hasFailed(ensure, fresh, 2*time.Second)),
			want:   "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned",
		},
		{
			name: "FailedDeletionIsRecordedAlthoughTheSameReasonWas", memory: memory{recorded: showing.News{"CloudFailed": noon.Add(-time.Minute)}}.with(hasFailed(remove, fresh, 2*time.Second)),
			want: "wait: because | after 3s | event DeleteLoadBalancerFailed",
		},
		{
			name: "CallIsRetriedAfterTheDelay", service: balanced(finalized), memory: memory{uid: "u1", announced: shapeOf(fresh)}.with(hasFailed(ensure, fresh, 5*time.Second)),
			want: "ensure: the Service has no load balancer yet",
		},
		{
			name: "AnotherShapeIsTriedAtOnce", service: balanced(finalized, edited), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, time.Second)),
			want: "ensure: the Service has no load balancer yet | event EnsuringLoadBalancer",
		},
		{
			name: "DeletionIsTriedAtOnce", service: balanced(finalized, terminating), memory: memory{uid: "u1"}.with(hasFailed(ensure, fresh, time.Second)),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "DeletionOfALostObjectIsTriedAtOnce", memory: known(ready).with(hasFailed(ensure, ready, time.Second)),
			want: "remove: the Service is gone and its load balancer may still exist | event DeletingLoadBalancer",
		},
	})
}

func TestAwaitedRetries(t *testing.T) {
	s := balanced(finalized)
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		awaited bool
	}{
		{"NewService", s, memory{uid: "u1"}.with(hasFailed(ensure, s, 0)), true},
		{"NewServiceThatHasFailedForALongTime", s, memory{uid: "u1"}.with(hasFailed(ensure, s, longestRetry), hasFailed(ensure, s, 0)), false},
		{"EditedService", balanced(finalized, edited), known(s).with(hasFailed(ensure, balanced(edited), 0)), true},
		{"DeletedService", balanced(finalized, terminating), known(s).with(hasFailed(remove, balanced(terminating), 0)), true},
		{"ServiceThatWasLost", nil, known(s).with(hasFailed(remove, s, 0)), true},
		{"NodesOrResync", s, known(s).with(hasFailed(ensure, s, 0)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(observed{now: noon, service: tt.service, backends: "set", hosts: 1, memory: tt.memory, policy: policy})
			if p.do != wait || p.awaited != tt.awaited {
				t.Errorf("%v, awaited %v, want to wait, awaited %v", p.do, p.awaited, tt.awaited)
			}
		})
	}
}

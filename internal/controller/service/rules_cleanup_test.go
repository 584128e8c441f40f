package service

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCleanUp(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "LoadBalancerIsRemovedBeforeTheFinalizer", service: balanced(finalized, addressed, terminating), memory: known(ready),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "LoadBalancerIsRemovedByAProcessThatRemembersNothing", service: balanced(finalized, terminating),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "FinalizerIsRemovedOnceTheLoadBalancerIsGone", service: balanced(finalized, addressed, conditioned, terminating),
			memory: known(ready, func(m *memory) { m.deleted, m.shape = true, "" }),
			want:   "release: the load balancer is gone | no address | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed",
		},
		{
			name: "ServiceOfAnotherTypeLosesItsLoadBalancer", service: balanced(finalized, internal),
			want: "remove: the Service is of another type now | event DeletingLoadBalancer",
		},
		{
			name: "ServiceOfAnotherTypeLosesItsConditions", service: balanced(conditioned, internal),
			want: "release: the load balancer is gone | drop LoadBalancerServing, LoadBalancerProvisioning",
		},
		{name: "ServiceIsForgottenOnceNothingIsLeft", service: balanced(internal), want: "forget: nothing is left of a load balancer"},
		{
			name: "LoadBalancerIsRemovedAlthoughTheFinalizerWasLost", service: balanced(terminating), memory: known(ready),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "LoadBalancerIsRemovedAlthoughTheObjectWasLost", memory: known(ready),
			want: "remove: the Service is gone and its load balancer may still exist",
		},
		{name: "LostObjectIsForgottenOnceItsLoadBalancerIsGone", memory: known(ready, func(m *memory) { m.deleted = true }), want: "forget: there is no such Service"},
		{
			name: "LoadBalancerOfThePreviousServiceIsRemovedFirst", service: balanced(replaced), memory: known(ready),
			want: "remove: another Service has the name now, and the load balancer of the previous one may still exist",
		},
		{
			name: "SuccessorThatWaitsShowsConditions", service: balanced(replaced), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "SuccessorShowsConditionsThatThePreviousServiceHadAMomentAgo", service: balanced(replaced),
			memory: known(ready, func(m *memory) {
				m.written, m.writtenAt = map[string]metav1.ConditionStatus{ConditionProvisioning: metav1.ConditionTrue}, noon
			}).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event SyncLoadBalancerFailed",
		},
		{
			name: "SuccessorOfAnotherTypeShowsNoConditions", service: balanced(replaced, internal), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | event SyncLoadBalancerFailed",
		},
		{name: "PreviousServiceIsForgottenOnceItsLoadBalancerIsGone", service: balanced(replaced), memory: known(ready, func(m *memory) { m.deleted = true }), want: "forget: there is no such Service"},
	})
}

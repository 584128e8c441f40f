package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestOfferBackends(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	old := func(m *memory) { m.backends = "old" }
	// shown records in the memory that the Service already shows the failure.
	shown := func(m *memory) {
		m.recorded = showing.News{"CloudFailed": noon}
		m.writtenAt = noon
	}
	failedFirst := memory{uid: "u1"}.with(hasFailed(ensure, ready, time.Second), shown)
	broken := balanced(finalized, addressed, conditioned, edited)
	withCondition := balanced(finalized, addressed, conditioned)
	*findCondition(withCondition, ConditionProvisioning) = provisioning(reasonCloudFailed.Cause("because"))
	brokenWithCondition := withCondition.DeepCopy()
	edited(brokenWithCondition)
	chosen := withCondition.DeepCopy()
	chosen.Annotations[AnnotationBackends] = "1"
	called := func(of *corev1.Service) func(*memory) { return func(m *memory) { m.service = of } }
	offered := "update: the set of nodes has changed while the load balancer cannot be ensured"
	runRows(t, []row{
		{
			name: "NewestSetIsOfferedWhileAnEditedServiceFails", service: brokenWithCondition,
			memory: known(ready, old).with(hasFailed(ensure, broken, time.Second), shown), want: offered,
		},
		{
			name: "NewestSetIsOfferedWhileAResyncFails", service: withCondition,
			memory: known(ready, old).with(hasFailed(ensure, ready, time.Second), shown), want: offered,
		},
		{name: "NewestSetIsOfferedWhileTheFirstCheckAfterARestartFails", service: withCondition, memory: failedFirst, want: offered},
		{
			name: "FailureIsShownBeforeTheSetIsOffered", service: ready, memory: known(ready, old).with(hasFailed(ensure, ready, time.Second)),
			want: "wait: because | after 1ms | LoadBalancerProvisioning True CloudFailed | event SyncLoadBalancerFailed",
		},
		{
			name: "RefusedConditionDoesNotHoldTheSetBack", service: ready,
			memory: known(ready, old).with(hasFailed(ensure, ready, time.Second), shown, func(m *memory) { m.unwritten = true }), want: offered,
		},
		{
			name: "NewestSetIsOfferedToTheServiceOfTheLastCall", service: chosen,
			memory: known(ready, old).with(hasFailed(ensure, chosen, time.Second), shown, called(chosen)), want: offered,
		},
		{
			name: "SetThatAnEditHasChosenWaitsForEnsure", service: chosen,
			memory: known(ready, old).with(hasFailed(ensure, chosen, time.Second), shown, called(ready)), want: "wait: because | after 4s",
		},
		{
			name: "SetThatAnEditedTrafficPolicyHasChosenWaitsForEnsure", service: withCondition,
			memory: known(ready, old).with(hasFailed(ensure, ready, time.Second), shown, called(balanced(local))), want: "wait: because | after 4s",
		},
		{
			name: "SetThatTheLoadBalancerHasIsNotOffered", service: withCondition,
			memory: known(ready).with(hasFailed(ensure, ready, time.Second), shown), want: "wait: because | after 4s",
		},
		{
			name: "FailedUpdateIsNotOfferedAgainBeforeEnsure", service: withCondition,
			memory: known(ready, old).with(hasFailed(update, ready, time.Second), shown), want: "wait: because | after 4s",
		},
		{
			name: "NothingIsOfferedToALoadBalancerThatNeverWorked", service: balanced(finalized),
			memory: memory{uid: "u1"}.with(hasFailed(ensure, ready, time.Second), shown),
			want:   "wait: because | after 4s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned",
		},
		{
			name: "NothingIsOfferedIfSomebodyElseProvides", service: withCondition,
			memory: known(ready, old, func(m *memory) { m.elsewhere = true }).with(hasFailed(ensure, ready, time.Second), shown), want: "wait: because | after 4s",
		},
		{
			name: "SetIsOfferedBeforeTheNextTryAlthoughThatIsDue", service: withCondition,
			memory: known(ready, old).with(hasFailed(ensure, ready, 5*time.Second), shown), want: offered,
		},
		{
			name: "NextTryIsMadeOnceTheSetWasOffered", service: withCondition,
			memory: known(ready, old).with(hasFailed(update, ready, 5*time.Second), shown),
			want:   "ensure: a call has failed, and it is not known how much of it was done",
		},
		{
			name: "EditedServiceIsEnsuredBeforeTheSetIsOffered", service: brokenWithCondition,
			memory: known(ready, old).with(hasFailed(ensure, ready, time.Second), shown),
			want:   "ensure: a call has failed, and it is not known how much of it was done | event EnsuringLoadBalancer",
		},
	})
}

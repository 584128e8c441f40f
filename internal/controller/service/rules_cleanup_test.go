package service

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
			want:   "release: the load balancer is gone | no address | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed | annotated",
		},
		{
			name: "ServiceOfAnotherTypeLosesItsLoadBalancer", service: balanced(finalized, internal),
			want: "remove: the Service has another type now | event DeletingLoadBalancer",
		},
		{
			name: "ServiceOfAnotherTypeLosesItsConditions", service: balanced(conditioned, internal),
			want: "release: the load balancer is gone | drop LoadBalancerServing, LoadBalancerProvisioning",
		},
		{name: "ServiceIsForgottenOnceNothingIsLeft", service: balanced(internal), want: "forget: the Service has no load balancer"},
		{
			name: "LoadBalancerIsRemovedAlthoughTheFinalizerWasLost", service: balanced(terminating), memory: known(ready),
			want: "remove: the Service is being deleted | event DeletingLoadBalancer",
		},
		{
			name: "LoadBalancerIsRemovedAlthoughTheObjectWasLost", memory: known(ready),
			want: "remove: the Service is gone and its load balancer may still exist | event DeletingLoadBalancer",
		},
		{name: "LostObjectIsForgottenOnceItsLoadBalancerIsGone", memory: known(ready, func(m *memory) { m.deleted = true }), want: "forget: there is no such Service"},
		{
			name: "LoadBalancerOfThePreviousServiceIsRemovedFirst", service: balanced(replaced), memory: known(ready),
			want: "remove: another Service has the name now, and the load balancer of the previous one may still exist | event DeletingLoadBalancer",
		},
		{
			name: "SuccessorThatWaitsShowsConditions", service: balanced(replaced), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event DeleteLoadBalancerFailed",
		},
		{
			name: "SuccessorShowsConditionsThatThePreviousServiceHadAMomentAgo", service: balanced(replaced),
			memory: known(ready, func(m *memory) {
				m.written, m.writtenAt = map[string]metav1.ConditionStatus{ConditionProvisioning: metav1.ConditionTrue}, noon
			}).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | LoadBalancerProvisioning True CloudFailed | LoadBalancerServing False NotProvisioned | event DeleteLoadBalancerFailed",
		},
		{
			name: "SuccessorOfAnotherTypeShowsNoConditions", service: balanced(replaced, internal), memory: known(ready).with(hasFailed(remove, ready, 2*time.Second)),
			want: "wait: because | after 3s | event DeleteLoadBalancerFailed",
		},
		{name: "PreviousServiceIsForgottenOnceItsLoadBalancerIsGone", service: balanced(replaced), memory: known(ready, func(m *memory) { m.deleted = true }), want: "forget: there is no such Service"},
	})
}

func TestDeletionHasTheLastAddress(t *testing.T) {
	fresh, bare := balanced(finalized), corev1.LoadBalancerStatus{}
	given := class("theirs")
	another := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.7"}}
	}
	seen := func(o *observed) { o.shown = shownAddress{"u1", corev1.LoadBalancerStatus{Ingress: address}} }
	returnedNone := known(fresh, func(m *memory) { m.status = &bare })
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		edit    func(*observed)
		want    []corev1.LoadBalancerIngress
	}{
		{name: "LostObjectHasTheAddressThatTheProviderReturned", memory: known(fresh), want: address},
		{name: "PreviousServiceHasTheAddressThatTheProviderReturned", service: balanced(replaced, another), memory: known(fresh), want: address},
		{name: "ServiceOfAnotherClassHasTheAddressThatTheProviderReturned", service: balanced(finalized, given, another), memory: known(fresh), want: address},
		{name: "ServiceOfAnotherTypeHasTheAddressThatTheAPIServerHasRemoved", service: balanced(finalized, internal), memory: known(fresh), want: address},
		{name: "AddressOfTheProviderCountsMoreThanThatOfAnotherWriter", service: balanced(finalized, terminating, another), memory: known(fresh), want: address},
		{name: "ServiceKeepsItsAddressIfThisProcessHasNotCalled", service: balanced(finalized, terminating, addressed), want: address},
		{name: "AddressThatTheProviderNeverReturnedIsTheOneLastSeen", service: balanced(finalized, internal), memory: returnedNone, edit: seen, want: address},
		{name: "AddressLastSeenIsKnownBeforeTheFirstCall", service: balanced(finalized, internal), edit: seen, want: address},
		{name: "AddressOfAnotherServiceIsNotUsed", service: balanced(finalized, terminating, replaced), edit: seen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, service: tt.service, memory: tt.memory, policy: policy}
			if tt.edit != nil {
				tt.edit(&o)
			}
			before := tt.service.DeepCopy()
			p := decide(o)
			if p.do != remove {
				t.Fatalf("plan %s, want a removal", digest(p))
			}
			if diff := cmp.Diff(tt.want, p.service.Status.LoadBalancer.Ingress); diff != "" {
				t.Errorf("address:\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.service); diff != "" {
				t.Errorf("decide has changed the informer's Service:\n%s", diff)
			}
		})
	}
}

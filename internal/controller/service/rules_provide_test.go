package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestProvide(t *testing.T) {
	fresh := balanced()
	ready := balanced(finalized, addressed, conditioned)
	runRows(t, []row{
		{
			name: "FinalizerIsWrittenBeforeTheCloudIsCalled", service: fresh,
			want: "add finalizer: a load balancer is about to exist | LoadBalancerProvisioning True Ensuring | annotated -",
		},
		{
			name: "NoConditionIsWrittenIfSomebodyElseProvides", service: fresh, edit: func(o *observed) { o.elsewhere = true },
			want: "add finalizer: a load balancer is about to exist | annotated -",
		},
		{
			name: "CloudIsCalledOnceTheFinalizerIsThere", service: balanced(finalized),
			want: "ensure: the Service has no load balancer yet | event EnsuringLoadBalancer",
		},
		{
			name: "AttemptIsAnnouncedOnce", service: balanced(finalized), memory: memory{uid: "u1", announced: shapeOf(fresh)},
			want: "ensure: the Service has no load balancer yet",
		},
		{
			name: "FirstCheckAfterARestartIsRoutine", service: ready,
			want: "ensure: this process has not checked the load balancer yet | routine",
		},
		{
			name: "AddressIsWrittenOnceTheLoadBalancerExists", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.published = false }),
			want: "publish: the address has changed | address 127.64.0.1 | LoadBalancerServing True Ready | LoadBalancerProvisioning False Provisioned",
		},
		{name: "NothingIsDoneIfAllIsUpToDate", service: ready, memory: known(ready), want: "nothing: up to date | after 9h48m0s"},
		{
			name: "ModeVIPIsTheDefault", memory: known(ready), service: balanced(finalized, conditioned, func(s *corev1.Service) {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.64.0.1", IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}}
			}), want: "nothing: up to date | after 9h48m0s",
		},
		{
			name: "ChangedServiceIsEnsured", service: balanced(finalized, addressed, conditioned, edited), memory: known(ready),
			want: "ensure: the Service has changed | event EnsuringLoadBalancer",
		},
		{
			name: "OtherNodesAreAnUpdate", service: ready, memory: known(ready, func(m *memory) { m.backends = "old" }),
			want: "update: the set of nodes has changed",
		},
		{
			name: "ResyncIsRoutine", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = noon.Add(-11 * time.Hour) }),
			want: "ensure: it is time to compare with the cloud | routine",
		},
		{
			name: "ResyncsAreSpread", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = noon.Add(-11 * time.Hour) }),
			edit: func(o *observed) { o.jitter = 0.5 }, want: "nothing: up to date | after 1h0m0s",
		},
		{
			name: "PeriodOfZeroIsNoResync", service: ready, memory: known(ready, func(m *memory) { m.ensuredAt = time.Time{} }),
			edit: func(o *observed) { o.policy.Resync = 0 }, want: "nothing: up to date",
		},
		{
			name: "RemovedFinalizerIsPutBack", service: balanced(addressed, conditioned), memory: known(ready),
			want: "add finalizer: somebody has removed the finalizer | annotated - | event LoadBalancerStatusContested",
		},
		{
			name: "RemovedFinalizerIsNotPutBackAgainWithinThePause", service: balanced(addressed, conditioned), memory: known(ready, func(m *memory) { m.repairedAt = noon.Add(-time.Minute) }),
			want: "wait: the finalizer was put back a short time ago | after 4m0s",
		},
		{
			name: "UpdateDoesNotWaitForTheFinalizer", service: balanced(addressed, conditioned),
			memory: known(ready, func(m *memory) { m.repairedAt, m.backends = noon.Add(-time.Minute), "old" }),
			want:   "update: the set of nodes has changed while the load balancer cannot be ensured",
		},
		{
			name: "FailedUpdateWaitsForTheFinalizer", service: balanced(addressed, conditioned),
			memory: known(ready, func(m *memory) { m.repairedAt, m.backends, m.offered = noon.Add(-time.Minute), "old", "set" }),
			want:   "wait: the finalizer was put back a short time ago | after 4m0s",
		},
		{
			name: "RemovedFinalizerIsPutBackAfterAFailedCall", service: balanced(), memory: memory{uid: "u1", service: fresh}.with(hasFailed(ensure, fresh, time.Second)),
			want: "add finalizer: somebody has removed the finalizer | annotated - | event LoadBalancerStatusContested",
		},
		{
			name: "ProviderIsAskedAboutAChangedAddress", service: balanced(finalized, conditioned), memory: known(ready),
			want: "ensure: somebody has changed the address, maybe the provider itself | routine",
		},
		{
			name: "ProviderIsNotAskedAgainWithinThePause", service: balanced(finalized, conditioned), memory: known(ready, func(m *memory) { m.repairedAt = noon.Add(-time.Minute) }),
			want: "wait: a change was put back or accepted a short time ago | after 4m0s",
		},
		{
			name: "ChangedAddressIsPutBack", service: balanced(finalized, conditioned), memory: known(ready, func(m *memory) { m.published, m.contested = false, true }),
			want: "publish: somebody else has changed the address | address 127.64.0.1 | event LoadBalancerStatusContested",
		},
		{
			name: "AddressIsAcceptedIfTheProviderHasReturnedNone", service: ready, memory: known(ready, func(m *memory) { m.status = &corev1.LoadBalancerStatus{} }),
			want: "nothing: up to date | after 9h48m0s",
		},
		{
			name: "AddressIsClearedIfTheProviderHasReturnedNoneInItsPlace", service: ready,
			memory: known(ready, func(m *memory) { m.status, m.published = &corev1.LoadBalancerStatus{}, false }),
			want:   "publish: the address has changed | no address | LoadBalancerServing False NoAddress",
		},
		{
			name: "NothingIsDoneIfSomebodyElseProvides", service: balanced(finalized), memory: known(fresh, func(m *memory) { m.elsewhere, m.backends = true, "" }),
			want: "nothing: somebody else provides the load balancer",
		},
	})
}

func TestFirstEnsureTakesANewSet(t *testing.T) {
	ready := balanced(finalized, addressed, conditioned)
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		fresh   bool
	}{
		{"NewService", balanced(finalized), memory{}, true},
		{"FirstCheckAfterARestart", ready, memory{}, true},
		{"EditedService", balanced(finalized, addressed, conditioned, edited), known(ready), false},
		{"Update", ready, known(ready, func(m *memory) { m.backends = "old" }), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(observed{now: noon, service: tt.service, backends: "set", hosts: 1, memory: tt.memory, policy: policy})
			if !p.do.isCall() || p.fresh != tt.fresh {
				t.Errorf("plan %s, fresh %v, want %v", digest(p), p.fresh, tt.fresh)
			}
		})
	}
}

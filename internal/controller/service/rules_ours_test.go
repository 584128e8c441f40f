package service

import (
	"testing"
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
			want:   "release: nothing is left of the load balancer that the Service had here | drop LoadBalancerServing, LoadBalancerProvisioning | finalizer removed",
		},
		{
			name: "ServiceOfAnotherClassIsForgottenOnceNothingIsLeft", service: balanced(addressed, class("theirs")), memory: known(ready, func(m *memory) { m.deleted = true }),
			want: "forget: nothing is left of a load balancer",
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

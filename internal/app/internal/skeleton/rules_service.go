package skeleton

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// finalizer is the finalizer of the service controllers (upstream-behaviour 2.7).
const finalizer = "service.kubernetes.io/load-balancer-cleanup"

// Service returns what the service controller does to a Service just after its start
// (upstream-behaviour 6.1, 6.4). For the deletion of a load balancer, the class of the
// Service does not matter.
func Service(s *corev1.Service) step.Step {
	is := step.Step{Object: "service/" + s.Namespace + "/" + s.Name, Effect: step.None, Do: nothing}
	balanced := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case slices.Contains(s.Finalizers, finalizer) && (s.DeletionTimestamp != nil || !balanced):
		is.Effect, is.Do, is.Why = step.Delete, "delete", "it has the finalizer, and is being deleted or of another type"
	case s.DeletionTimestamp != nil:
		is.Why = "it is being deleted"
	case !balanced || s.Spec.LoadBalancerClass != nil:
		is.Why = "it is of another type or class"
	case len(s.Status.LoadBalancer.Ingress) == 0:
		is.Effect, is.Do, is.Why = step.Create, "ensure", "it wants a load balancer"
	default:
		is.Effect, is.Do, is.Why = step.Update, "ensure", "each load balancer is ensured after a start"
	}
	return is
}

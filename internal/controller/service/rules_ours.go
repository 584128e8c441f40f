package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isOurs reports whether a Service is served here, or was and is to be cleaned up
// by flag. A Service of another class is never touched otherwise, not even to
// clean up (promise S4).
func (p Policy) isOurs(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return class == nil || slices.Contains(p.Classes, *class) || p.isRetired(service) && service.DeletionTimestamp != nil
}

// isRetired reports whether the class of a Service was served here in the past.
func (p Policy) isRetired(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return class != nil && slices.Contains(p.Retired, *class)
}

// concerns reports whether this controller may have something to do for a
// Service. Most Services of a cluster do not.
func (p Policy) concerns(service *corev1.Service) bool {
	return p.isOurs(service) &&
		(service.Spec.Type == corev1.ServiceTypeLoadBalancer || hasFinalizer(service) || len(ownConditions(service)) > 0)
}

// foreignAfter returns the UID of the Service if it belonged to another class
// when it last had a class, and the empty string if it was served here. The API
// server removes the class when the type changes. After that, the finalizer
// alone does not show which controller serves the Service.
func (p Policy) foreignAfter(before types.UID, service *corev1.Service) types.UID {
	switch {
	case !p.isOurs(service) && !p.isRetired(service):
		return service.UID
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer, before != service.UID:
		return ""
	default:
		return before
	}
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, Finalizer)
}

// giveUp leaves a Service of another class alone. If this process has served the
// Service before, it first removes its load balancer, finalizer and conditions. It
// does not remove the address, which now comes from the other controller.
func giveUp(o observed) plan {
	switch {
	case o.memory.uid == "":
		return leaveAlone(o)
	case o.memory.service != nil && !o.memory.deleted:
		p := withBackoff(o, plan{do: remove, why: "the Service belongs to another load balancer class now", service: o.withLastStatus(o.memory.service)})
		p.writes.conditions = nil
		return p
	case hasFinalizer(o.service), len(ownConditions(o.service)) > 0:
		return plan{
			do: release, why: "nothing is left of the load balancer that the Service had here",
			writes: writes{release: hasFinalizer(o.service), drop: ownConditions(o.service)}, memory: o.memory,
		}
	default:
		return plan{do: forget, why: "nothing is left of a load balancer"}
	}
}

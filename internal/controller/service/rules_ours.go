package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// isOurs tells whether a Service is served here. A Service of another class is
// never touched, not even to clean up (S4).
func (p Policy) isOurs(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return class == nil || slices.Contains(p.Classes, *class)
}

// concerns tells whether a Service may have something to do for us; most
// Services of a cluster have not.
func (p Policy) concerns(service *corev1.Service) bool {
	return p.isOurs(service) &&
		(service.Spec.Type == corev1.ServiceTypeLoadBalancer || hasFinalizer(service) || len(ownConditions(service)) > 0)
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, Finalizer)
}

// giveUp leaves a Service of another class alone. What this process has made
// for it, before it was given to that class, goes: load balancer, finalizer and
// conditions. The address is the other controller's by now.
func giveUp(o observed) plan {
	switch {
	case o.memory.uid == "":
		return plan{do: nothing, why: "the Service belongs to another load balancer class"}
	case o.memory.service != nil && !o.memory.deleted:
		p := remedy(o, plan{do: remove, why: "the Service belongs to another load balancer class now", service: o.memory.service})
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

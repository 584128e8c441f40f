package service

import (
	corev1 "k8s.io/api/core/v1"
)

// cleanUp takes the load balancer of a Service away that is being deleted or
// has become another type. The finalizer goes last (S2).
func cleanUp(o observed) plan {
	o.memory.uid = o.service.UID
	owned := hasFinalizer(o.service) || o.memory.service != nil
	switch {
	case owned && !o.memory.deleted:
		p := remedy(o, plan{do: remove, why: leaving(o.service), service: o.service})
		if key := shapeFor(o.service); p.do == remove && o.memory.announced != key {
			p.memory.announced = key
			p.writes.events = append(p.writes.events, deleting())
		}
		return p
	case hasFinalizer(o.service), len(ownConditions(o.service)) > 0:
		return plan{
			do: release, why: "the load balancer is gone",
			writes: writes{
				release: hasFinalizer(o.service), ingress: cleared(o.service), drop: ownConditions(o.service),
			},
			memory: o.memory,
		}
	default:
		return plan{do: forget, why: "nothing is left of a load balancer"}
	}
}

func leaving(service *corev1.Service) string {
	if service.DeletionTimestamp != nil {
		return "the Service is being deleted"
	}
	return "the Service is of another type now"
}

// cleared is an empty list where there is something to clear.
func cleared(service *corev1.Service) *[]corev1.LoadBalancerIngress {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	return &[]corev1.LoadBalancerIngress{}
}

package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// cleanUp removes the load balancer of a Service that is being deleted or that now
// has another type. The finalizer is removed last (promise S2).
func cleanUp(o observed) plan {
	o.memory.uid = o.service.UID
	owned := hasFinalizer(o.service) || o.memory.service != nil
	switch {
	case owned && !o.memory.deleted:
		p := withBackoff(o, plan{do: remove, why: reasonToLeave(o.service), service: o.withLastStatus(o.builtFrom())})
		p = withPauseBetweenRemovals(o, p)
		if shape := shapeFor(o.service); p.do == remove && o.memory.announced != shape {
			p.memory.announced = shape
			p.writes.events = []message.Event{deletingEvent()}
		}
		return p
	case hasFinalizer(o.service), len(ownConditions(o.service)) > 0:
		return plan{
			do: release, why: "the load balancer is gone",
			writes: writes{
				release: hasFinalizer(o.service), class: unnamed(o.service), ingress: emptied(o.service), drop: ownConditions(o.service),
			},
			memory: o.memory,
		}
	default:
		return plan{do: forget, why: "the Service has no load balancer"}
	}
}

// builtFrom returns the Service from which the provider may have built the load
// balancer. If the Service has neither the type LoadBalancer nor the finalizer, that is
// the Service of the last call, because somebody has removed the finalizer and may have
// changed more.
func (o observed) builtFrom() *corev1.Service {
	if !hasFinalizer(o.service) && o.service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return o.memory.service
	}
	return o.service
}

// removeOrphan removes a load balancer whose Service no longer exists. Somebody has
// removed the finalizer, or has deleted the Service by force. Another Service with
// the same name has to wait for the removal.
func removeOrphan(o observed) plan {
	if o.memory.service == nil || o.memory.deleted {
		return plan{do: forget, why: "there is no such Service"}
	}
	why := "the Service is gone and its load balancer may still exist"
	if o.service != nil {
		why = "another Service has the name now, and the load balancer of the previous one may still exist"
	}
	return withBackoff(o, plan{do: remove, why: why, service: o.withLastStatus(o.memory.service), orphaned: true})
}

// withLastStatus returns the Service with the last known address, because some
// providers find the load balancer only by that address. The Service itself may not
// have it. The API server removes the address when the type changes, and the copy from
// the last call may be older than the address. The last known address is usually the
// one that the provider has returned. If the provider has returned none, or if the
// address on the Service might be newer, it is the address that the Service shows or
// has shown last.
func (o observed) withLastStatus(service *corev1.Service) *corev1.Service {
	status, m := service.Status.LoadBalancer, o.memory
	if (len(status.Ingress) == 0 || service == m.service) && o.shown.uid == service.UID {
		status = o.shown.status
	}
	// The shown address may be newer than the returned one if the provider itself has
	// written it. This is possible if a call has failed since, or if the provider has
	// accepted a changed address before.
	mayBeNewer := len(status.Ingress) > 0 && (m.uncertain || !m.contested && m.askedAt.After(m.repairedAt))
	if m.status != nil && len(m.status.Ingress) > 0 && !mayBeNewer {
		status = *m.status
	}
	with := *service
	with.Status.LoadBalancer = status
	return &with
}

func reasonToLeave(service *corev1.Service) string {
	if service.DeletionTimestamp != nil {
		return "the Service is being deleted"
	}
	return "the Service has another type now"
}

// emptied returns an empty list if the Service shows an address, and nil otherwise.
func emptied(service *corev1.Service) *[]corev1.LoadBalancerIngress {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	return &[]corev1.LoadBalancerIngress{}
}

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
		p := withBackoff(o, plan{do: remove, why: reasonToLeave(o.service), service: o.withLastStatus(o.whole())})
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
		return plan{do: forget, why: "nothing is left of a load balancer"}
	}
}

// whole returns the Service with all fields from which the provider may have built the
// load balancer. If the Service has neither the type LoadBalancer nor the finalizer,
// the informer drops its annotations and ports. In that case, whole returns the Service
// of the last call, which still has these fields.
func (o observed) whole() *corev1.Service {
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
	return withBackoff(o, plan{do: remove, why: why, service: o.withLastStatus(o.memory.service)})
}

// withLastStatus returns the Service with the last known address. Usually, that is the
// address that the provider has returned. It is the address that the Service shows or
// has shown if the provider has returned none, or if the shown address might be newer.
// Some providers find the load balancer only by the last known address. The Service can
// lack the address, because the API server removes it when the type changes. The
// Service of the last call can also lack it, because the address was written after that
// call.
func (o observed) withLastStatus(service *corev1.Service) *corev1.Service {
	status, m := service.Status.LoadBalancer, o.memory
	if (len(status.Ingress) == 0 || service == m.service) && o.shown.uid == service.UID {
		status = o.shown.status
	}
	// The provider may have written the shown address itself. The shown address might
	// be newer than the returned one in two cases: a call has failed since, or the
	// provider has accepted a changed address before.
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
	return "the Service is of another type now"
}

// emptied returns an empty list if the Service shows an address, and nil otherwise.
func emptied(service *corev1.Service) *[]corev1.LoadBalancerIngress {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	return &[]corev1.LoadBalancerIngress{}
}

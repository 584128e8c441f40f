package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// Policy says which Services are served, and how often their load balancers are
// checked.
type Policy struct {
	// Classes are the values of spec.loadBalancerClass that are served. Services
	// without a class are served, too, unless ClassesOnly is true.
	Classes []string
	// If ClassesOnly is true, a Service without a class is left alone.
	ClassesOnly bool
	// Retired are classes that were served here in the past. When a Service of a
	// retired class is deleted, or when its type or class changes, its load balancer
	// and the finalizer are removed. Before that, the Service is left alone.
	Retired []string
	// Resync is the period after which an unchanged load balancer is ensured again; 0
	// means never.
	Resync time.Duration
}

// DefaultPolicy returns the defaults of the flags.
func DefaultPolicy() Policy { return Policy{Resync: 12 * time.Hour} }

// provide returns the next action for a Service that gets a load balancer. The order
// of the actions matters. The finalizer is written before the cloud is called
// (promise S2). The address is written after the load balancer exists.
func provide(o observed) plan {
	o.memory.uid = o.service.UID
	if !hasFinalizer(o.service) {
		return keepFinalizer(o)
	}
	switch shape := shapeOf(o.service); {
	case o.memory.shape != shape, o.memory.uncertain:
		p := withBackoff(o, plan{do: ensure, why: difference(o), service: o.service, routine: isKnownFromBefore(o), fresh: o.memory.backends == ""})
		if p.do == ensure && !p.routine && o.memory.announced != shape {
			p.memory.announced = shape
			p.writes.events = []message.Event{ensuringEvent()}
		}
		return offerBackends(o, p)
	case o.memory.elsewhere:
		return settled(o, "somebody else provides the load balancer")
	case isResyncDue(o):
		return withBackoff(o, plan{do: ensure, why: "it is time to compare with the cloud", service: o.service, routine: true})
	case o.memory.backends != o.backends:
		return withBackoff(o, plan{do: update, why: "the set of nodes has changed", service: o.service, shared: isWhole(o.service) && o.hosts == o.usable && o.memory.alone != o.backends})
	default:
		return show(o)
	}
}

// keepFinalizer writes the finalizer, together with the condition that says that the
// provider is about to be called. If somebody else has removed the finalizer, it is put
// back, at most once in showing.PutBackAfter. Until then the load balancer still gets new sets of
// nodes, because an update makes nothing that the finalizer would have to keep.
func keepFinalizer(o observed) plan {
	p := plan{do: addFinalizer, why: "a load balancer is about to exist", writes: writes{finalizer: true}, memory: o.memory}
	if o.memory.service != nil && !o.memory.deleted {
		if next := o.memory.repairedAt.Add(showing.PutBackAfter); o.now.Before(next) {
			return offerBackends(o, plan{do: wait, why: "the finalizer was put back a short time ago", after: next.Sub(o.now), memory: o.memory})
		}
		p.why = "somebody has removed the finalizer"
		p.memory.repairedAt = o.now
		p.memory.shape = "" // Ensure again, because another daemon with the same finalizer may have deleted the load balancer first.
		p.writes.events = []message.Event{contestedEvent("finalizer", managerOf(o.service, "f:finalizers"))}
		return p
	}
	if after := o.memory.edits.used.Next(editLimit).Sub(o.now); after > 0 && o.memory.edits.have(o.service) { // Without the finalizer, a change of the type needs no deletion in the cloud.
		return waitToEdit(o, after)
	}
	if !o.elsewhere {
		conditions, _ := outdated(o, provisioning(ensuringCause()))
		p = p.withConditions(conditions, o.now)
	}
	return p
}

// isKnownFromBefore reports whether an earlier process provided the load balancer. If
// so, the first check by this process is not recorded as an event.
func isKnownFromBefore(o observed) bool {
	return o.memory.shape == "" && len(o.service.Status.LoadBalancer.Ingress) > 0
}

// difference returns the reason why Ensure has to be called.
func difference(o observed) string {
	switch {
	case isKnownFromBefore(o):
		return "this process has not checked the load balancer yet"
	case o.memory.shape == "":
		return "the Service has no load balancer yet"
	case o.memory.uncertain:
		return "a call has failed, and it is not known how much of it was done"
	default:
		return "the Service has changed"
	}
}

func isResyncDue(o observed) bool {
	return o.policy.Resync > 0 && !o.now.Before(nextResync(o))
}

// nextResync returns the time of the next resync. A resync is up to a tenth of the
// period early or late, so that the resyncs of many Services are spread.
func nextResync(o observed) time.Time {
	period := float64(o.policy.Resync)
	return o.memory.ensuredAt.Add(time.Duration(period * (0.9 + o.jitter/5)))
}

// show returns the plan to write the address and the conditions, if the Service shows
// different ones.
func show(o observed) plan {
	shown := o.service.Status.LoadBalancer
	differs := !isEqual(shown, *o.memory.status)
	if differs && o.memory.published && len(o.memory.status.Ingress) == 0 {
		o.memory.status, differs = &shown, false // The provider has returned no address, so the shown address may stay.
	}
	o.memory.published, o.memory.contested = o.memory.published || !differs, o.memory.contested && differs
	if differs && o.memory.published {
		return repairAddress(o)
	}
	p := plan{do: publish, why: "the address has changed", memory: o.memory}
	if differs {
		p.writes.ingress = &o.memory.status.Ingress
		p.memory.published, p.memory.contested = true, false
	}
	if o.memory.contested {
		p.why = "somebody else has changed the address"
		p.writes.events = []message.Event{contestedEvent("status", managerOf(o.service, "f:loadBalancer"))}
	}
	conditions, later := outdated(o, serving(o), provisioned())
	p = p.withConditions(conditions, o.now)
	switch {
	case !differs && len(conditions) == 0 && later > 0:
		return plan{do: doNothing, why: "a condition was written a short time ago", after: later, memory: o.memory}
	case !differs && len(conditions) == 0:
		return settled(o, "up to date")
	case !differs:
		p.why = "the conditions have changed"
	}
	return p
}

// repairAddress returns the plan for an address that somebody else has changed, at most
// once in showing.PutBackAfter. The provider is called with the current Service, because the
// provider itself may have changed the address with a client of its own. Its answer
// decides whether the address is put back (see memory.withStatus).
func repairAddress(o observed) plan {
	if next := o.memory.repairedAt.Add(showing.PutBackAfter); o.now.Before(next) {
		return plan{do: wait, why: "a change was put back or accepted a short time ago", after: next.Sub(o.now), memory: o.memory}
	}
	return withBackoff(o, plan{do: ensure, why: "somebody has changed the address, maybe the provider itself", service: o.service, routine: true})
}

// settled returns the plan to wait for a change, or for the next resync. But if
// somebody else provides the load balancer, the plan first removes this controller's
// conditions.
func settled(o observed, why string) plan {
	p := plan{do: doNothing, why: why, memory: o.memory}
	if o.policy.Resync > 0 && !o.memory.elsewhere {
		p.after = nextResync(o).Sub(o.now)
	}
	if o.memory.elsewhere && len(ownConditions(o.service)) > 0 {
		p.do, p.why = publish, "somebody else provides the load balancer, so our conditions are removed"
		p.writes.drop, p.memory.written = ownConditions(o.service), nil
	}
	return p
}

// isEqual reports whether the API server would store the same for both statuses. If the
// provider names no mode for an IP address, the API server stores the mode VIP.
func isEqual(stored, ours corev1.LoadBalancerStatus) bool {
	return equality.Semantic.DeepEqual(defaulted(stored), defaulted(ours))
}

func defaulted(status corev1.LoadBalancerStatus) []corev1.LoadBalancerIngress {
	vip := corev1.LoadBalancerIPModeVIP
	var ingress []corev1.LoadBalancerIngress
	for _, i := range status.Ingress {
		if i.IP != "" && i.IPMode == nil {
			i.IPMode = &vip
		}
		ingress = append(ingress, i)
	}
	return ingress
}

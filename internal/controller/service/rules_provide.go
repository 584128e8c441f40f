package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// repairPause is how often something is put back that somebody else undoes
// (S4).
const repairPause = 5 * time.Minute

// provide brings the load balancer of a Service in line, one step after the
// other. The order is the safety: the finalizer is there before the cloud is
// called (S2), and the address is shown once the load balancer exists.
func provide(o observed) plan {
	o.memory.uid = o.service.UID
	if !hasFinalizer(o.service) {
		return keepFinalizer(o)
	}
	switch wanted := shapeOf(o.service); {
	case o.memory.wanted != wanted, o.memory.doubt:
		p := remedy(o, plan{do: ensure, why: difference(o), service: o.service, quiet: isKnownFrom(o)})
		if p.do == ensure && !p.quiet && o.memory.announced != wanted {
			p.memory.announced = wanted
			p.writes.events = append(p.writes.events, ensuring())
		}
		return p
	case o.memory.elsewhere:
		return settled(o, "somebody else provides the load balancer")
	case isResyncDue(o):
		return remedy(o, plan{do: ensure, why: "it is time to compare with the cloud", service: o.service, quiet: true})
	case o.memory.backends != o.backends:
		return remedy(o, plan{do: update, why: "the set of nodes has changed", service: o.service})
	default:
		return show(o)
	}
}

// keepFinalizer writes the finalizer, with the news that work begins. One that
// somebody else has removed is put back, within limits.
func keepFinalizer(o observed) plan {
	p := plan{do: addFinalizer, why: "a load balancer is about to exist", memory: o.memory}
	if o.memory.service != nil && !o.memory.deleted {
		if next := o.memory.repairedAt.Add(repairPause); o.now.Before(next) {
			return plan{do: wait, why: "the finalizer was put back a short time ago", after: next.Sub(o.now), memory: o.memory}
		}
		p.why = "somebody has removed the finalizer"
		p.memory.repairedAt = o.now
		p.writes.events = []event{contested("finalizer", managerOf(o.service, "f:finalizers"))}
		return p
	}
	if !o.elsewhere {
		conditions, _ := outdated(o, provisioning(refusalOfWork()))
		p = p.showing(conditions, o.now)
	}
	return p
}

// isKnownFrom tells whether an earlier process has provided the load balancer:
// to look at it again is no news.
func isKnownFrom(o observed) bool {
	return o.memory.wanted == "" && len(o.service.Status.LoadBalancer.Ingress) > 0
}

// difference says what makes the provider be called.
func difference(o observed) string {
	switch {
	case isKnownFrom(o):
		return "this process has not seen the load balancer yet"
	case o.memory.wanted == "":
		return "the Service has no load balancer yet"
	case o.memory.doubt:
		return "a call has failed, and how much of it was done is not known"
	default:
		return "the Service has changed"
	}
}

func isResyncDue(o observed) bool {
	return o.policy.Resync > 0 && !o.now.Before(resyncAt(o))
}

// resyncAt spreads the resyncs over a tenth of the period to either side.
func resyncAt(o observed) time.Time {
	period := float64(o.policy.Resync)
	return o.memory.ensuredAt.Add(time.Duration(period * (0.9 + o.spread/5)))
}

// show writes the address and the conditions when they are not as they should
// be.
func show(o observed) plan {
	differs := !isEqual(o.service.Status.LoadBalancer, *o.memory.status)
	o.memory.published = o.memory.published || !differs
	p := plan{do: publish, why: "the address has changed", memory: o.memory}
	if differs {
		p.writes.ingress = &o.memory.status.Ingress
		p.memory.published = true
	}
	conditions, later := outdated(o, serving(o), provisioned())
	p = p.showing(conditions, o.now)
	switch {
	case !differs && len(conditions) == 0 && later > 0:
		return plan{do: nothing, why: "a condition was written a short time ago", after: later, memory: o.memory}
	case !differs && len(conditions) == 0:
		return settled(o, "up to date")
	case differs && o.memory.published:
		if next := o.memory.repairedAt.Add(repairPause); o.now.Before(next) {
			return plan{do: wait, why: "the address was put back a short time ago", after: next.Sub(o.now), memory: o.memory}
		}
		p.why = "somebody has changed the address"
		p.memory.repairedAt = o.now
		p.writes.events = []event{contested("status", managerOf(o.service, "f:loadBalancer"))}
	case !differs:
		p.why = "the conditions have changed"
	}
	return p
}

// settled is the end until there is news, or until the next resync.
func settled(o observed, why string) plan {
	p := plan{do: nothing, why: why, memory: o.memory}
	if o.policy.Resync > 0 && !o.memory.elsewhere {
		p.after = resyncAt(o).Sub(o.now)
	}
	if o.memory.elsewhere && len(ownConditions(o.service)) > 0 {
		p.do, p.why = publish, "somebody else provides the load balancer, and its conditions are not ours"
		p.writes.drop, p.memory.stated = ownConditions(o.service), nil
	}
	return p
}

// isEqual compares as the API server stores: an address has the mode VIP
// unless the provider says otherwise.
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

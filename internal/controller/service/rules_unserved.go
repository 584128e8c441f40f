package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// unservedAfter is the time for which the finalizer may hold up the deletion of a
// Service of another class before this controller reports it. The controller of that
// class may use the same finalizer, as upstream does, and needs some time to clean up.
const unservedAfter = 10 * time.Minute

// isHeld reports whether the finalizer holds up the deletion of the Service.
func isHeld(service *corev1.Service) bool {
	return service.DeletionTimestamp != nil && hasFinalizer(service)
}

// leaveAlone returns the plan to leave a Service of another class alone. If nobody
// finishes the deletion of the Service, an event and a condition say who can do so, at
// most once in repeatEvent (promise V1).
func leaveAlone(o observed) plan {
	p := plan{do: doNothing, why: "the Service belongs to another load balancer class", memory: o.memory}
	if !isHeld(o.service) {
		return p
	}
	if p.after = o.service.DeletionTimestamp.Add(unservedAfter).Sub(o.now); p.after > 0 {
		return p
	}
	p.do, p.why, p.after = wait, "the finalizer holds up the deletion of a Service of another load balancer class", repeatEvent
	if r := o.memory.recorded; !r.isNew(reasonCleanupHeld.Name, o.now) {
		p.after = r.next().Sub(o.now)
		return p
	}
	cause := unservedCause(o.service)
	p.memory.recorded = o.memory.recorded.with(reasonCleanupHeld.Name, o.now)
	p.writes.events = append(p.writes.events, cleanupHeldEvent(cause))
	p.writes.conditions, _ = outdated(o, cleanupHeld(cause))
	return p
}

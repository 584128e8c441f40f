package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// cleanUp removes the load balancer of a Service that is being deleted or that now
// has another type or class. The finalizer is removed last (promise S2). If another
// controller serves the Service now, it shows no conditions of this controller, and its
// address stays, because it comes from the other one.
func cleanUp(o observed) plan {
	o.memory.uid = o.service.UID
	owned := hasFinalizer(o.service) || o.memory.service != nil
	switch {
	case owned && !o.memory.deleted && isNeverMade(o):
		p := withoutBalancer(o, "the cloud finds no load balancer, and the Service never had one")
		p.writes.events = []message.Event{neverMadeEvent(o.memory.failure)}
		return p
	case owned && !o.memory.deleted:
		p := announced(withBackoff(o, plan{do: remove, why: reasonToLeave(o.service), service: o.withLastStatus(o.builtFrom())}))
		p = withSearch(o, p)
		if isGivenAway(o.service) {
			p.writes.conditions = nil
		}
		return p
	case hasFinalizer(o.service), len(ownConditions(o.service)) > 0, o.memory.service != nil && unnamed(o.service) != nil:
		return withoutBalancer(o, "the load balancer is gone")
	default:
		return plan{do: forget, why: "the Service has no load balancer"}
	}
}

// isGivenAway reports whether a Service that does not want a load balancer from here any
// more wants one from another controller.
func isGivenAway(service *corev1.Service) bool {
	return service.DeletionTimestamp == nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// withoutBalancer returns the plan for a Service that has no load balancer any more.
func withoutBalancer(o observed, why string) plan {
	p := plan{do: release, why: why, memory: o.memory}
	p.writes = writes{release: hasFinalizer(o.service), class: unnamed(o.service), drop: ownConditions(o.service)}
	if len(o.service.Status.LoadBalancer.Ingress) > 0 && !isGivenAway(o.service) {
		p.writes.ingress = &[]corev1.LoadBalancerIngress{}
	}
	return p
}

// builtFrom returns the Service from which the provider may have built the load
// balancer. That is the Service of the last call if another controller serves the Service
// now. It is so, too, if the Service has neither the type LoadBalancer nor the finalizer,
// because somebody has removed the finalizer and may have changed more.
func (o observed) builtFrom() *corev1.Service {
	isLost := !hasFinalizer(o.service) && o.service.Spec.Type != corev1.ServiceTypeLoadBalancer
	if o.memory.service != nil && (isLost || isGivenAway(o.service)) {
		return o.memory.service
	}
	return o.service
}

// removeOrphan removes a load balancer whose Service no longer exists. Somebody has
// removed the finalizer, or has deleted the Service by force. Another Service with
// the same name has to wait for the removal.
func removeOrphan(o observed) plan {
	if o.memory.service == nil || o.memory.deleted || o.memory.isReleasedByHand() {
		return plan{do: forget, why: "there is no such Service"}
	}
	why := "the Service is gone and its load balancer may still exist"
	if o.service != nil {
		why = "another Service has the name now, and the load balancer of the previous one may still exist"
	}
	return announced(withBackoff(o, plan{do: remove, why: why, service: o.withLastStatus(o.memory.service), orphaned: true}))
}

// announced adds to the first plan of a removal the event that announces it.
func announced(p plan) plan {
	if p.do != remove || p.memory.announced == removalOf(p.service) {
		return p
	}
	p.memory.announced = removalOf(p.service)
	p.writes.events = []message.Event{deletingEvent()}
	return p
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
	mayBeNewer := len(status.Ingress) > 0 && (m.uncertain || m.accepted)
	if m.status != nil && len(m.status.Ingress) > 0 && !mayBeNewer {
		status = *m.status
	}
	with := *service
	with.Status.LoadBalancer = status
	return &with
}

func reasonToLeave(service *corev1.Service) string {
	switch {
	case service.DeletionTimestamp != nil:
		return "the Service is being deleted"
	case isGivenAway(service):
		return "the Service belongs to another load balancer class now"
	default:
		return "the Service has another type now"
	}
}

// A Service that never got a load balancer must be able to go, although the provider
// fails to delete what does not exist. The cloud is asked for the load balancer after
// minFailures deletions in a row have failed over at least absencePause, and the Service
// is released after minAbsences answers that there is none.
const (
	minFailures = 3
	minAbsences = 2
	// absencePause is the shortest time between two questions for a load balancer.
	absencePause = time.Minute
)

// search has the answers of the cloud to the questions for a load balancer that cannot
// be deleted.
type search struct {
	absences int // answers in a row that there is none
	askedAt  time.Time
}

// mayExist reports whether there may be a load balancer of the Service, whatever
// GetLoadBalancer says (promise S2 a). Only if it returns false, the Service has never
// got one: no Ensure has succeeded or ended without an answer, and nothing on the Service
// shows that an earlier process had a different experience.
func (o observed) mayExist() bool {
	m := o.memory
	return m.mayExist || m.status != nil || len(o.service.Status.LoadBalancer.Ingress) > 0 || o.shown.uid == o.service.UID || showsOne(o.service)
}

// showsOne reports whether a condition shows that there is a load balancer.
func showsOne(service *corev1.Service) bool {
	shown := findCondition(service, ConditionServing)
	return shown != nil && shown.Reason != reasonNotProvisioned.Name
}

// isCutOff reports whether an Ensure of an earlier process may have been cut off. The
// conditions are those of the Service in the first call of this process.
func (m memory) isCutOff(service *corev1.Service) bool {
	shown := findCondition(service, ConditionProvisioning)
	return m.service == nil && m.written == nil && shown != nil &&
		(shown.Reason == reasonFirstCall.Name || shown.Reason == reasonInProgress.Name)
}

// isStuck reports whether the deletion of the Service waits for a removal that fails
// again and again, for reasons that do not end by themselves.
func isStuck(o observed) bool {
	return o.service.DeletionTimestamp != nil && o.memory.cannotRemove()
}

func (m memory) cannotRemove() bool {
	return m.failure.during == remove && m.failure.lasting >= minFailures
}

// isReleasedByHand reports whether the owner of a Service that no longer exists has done
// what the condition said. Without this, the next Service with the name would wait until
// this process ends.
func (m memory) isReleasedByHand() bool { return m.cannotRemove() && m.search.absences >= minAbsences }

// isNeverMade reports whether a Service that is being deleted can be released although
// its load balancer could not be deleted.
func isNeverMade(o observed) bool {
	return isStuck(o) && o.memory.search.absences >= minAbsences && !o.mayExist()
}

// withSearch returns the plan to ask the cloud for the load balancer, if p waits for a
// removal that fails again and again, and the question is due. Otherwise it returns p.
func withSearch(o observed, p plan) plan {
	if p.do != wait || !isStuck(o) {
		return p
	}
	due, s := o.memory.failure.lastingSince.Add(absencePause), o.memory.search
	switch {
	case s.absences == 1:
		due = s.askedAt.Add(absencePause)
	case !s.askedAt.IsZero():
		due = s.askedAt.Add(longestRetry)
	}
	if wait := due.Sub(o.now); wait > 0 {
		p.after = min(p.after, wait)
		return p
	}
	return plan{do: find, why: "the load balancer cannot be deleted, and may not exist", service: o.withLastStatus(o.builtFrom()), routine: true, memory: o.memory}
}

// shownCause returns the cause of the last failure, for conditions. If the cloud has
// found no load balancer that may exist all the same, the cause says how the owner can
// release the Service.
func (o observed) shownCause() message.Cause {
	cause := o.memory.failure.cause
	if o.memory.search.absences < minAbsences || o.service == nil || !isStuck(o) {
		return cause
	}
	return notFoundCause(cause)
}

// searched returns the memory after the cloud was asked for the load balancer.
func (m memory) searched(r outcome) memory {
	absences := m.search.absences + 1
	if r.result != succeeded || r.exists {
		absences = 0
	}
	m.search = search{absences, r.at}
	return m
}

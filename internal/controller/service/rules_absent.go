package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

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

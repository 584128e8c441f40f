package service

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// memory is this process's memory of a Service between passes. It is a value. A plan
// changes a copy, and the copy is stored after the plan's writes.
type memory struct {
	uid types.UID
	// service is the Service of the last call. If the object no longer exists, the
	// provider gets this copy when the load balancer has to be deleted.
	service *corev1.Service
	// shape is the shape of the Service in the last Ensure that did not fail.
	// backends is the ID of the node set that the load balancer has. It is unknownSet if
	// a call with another set has failed. Each is empty if this process has made none.
	shape, backends string
	ensuredAt       time.Time
	// status is the status that the provider returned. If the provider returned no
	// address, it can be a status that the Service has shown (see show and
	// withLastStatus). It is nil if there is none yet.
	status *corev1.LoadBalancerStatus
	// published means that the Service has shown this status. The field contested means
	// that somebody else has changed the status of the Service since, but that the
	// provider has returned this status again. The field accepted means that the provider
	// has returned an address that somebody else had written, maybe the provider itself.
	published, contested, accepted bool
	// uncertain means that a call has failed, and that nobody knows how much of it
	// was done.
	uncertain bool
	// elsewhere means that somebody else provides the load balancer.
	elsewhere bool
	// mayExist means that there may be a load balancer, whatever the cloud says, because
	// a call has succeeded, or has ended without an answer.
	mayExist bool
	search   search
	// deleted means that the load balancer is gone, and that the provider has
	// confirmed this.
	deleted bool
	failure failure
	// offered is the ID of the node set in the last failed update. It is empty if no
	// update has failed since the last call of Ensure.
	offered string
	// alone is the ID of the set for which the update needs a call of its own, because a
	// call about several Services said nothing about this one.
	alone string
	// announced is the shape for which no more events announce a call.
	announced string
	// recorded has the events about failures since the last success.
	recorded showing.News
	// written has the status with which each condition was last written. The map
	// is never changed, only replaced.
	written map[string]metav1.ConditionStatus
	// writtenAt is the time of the last such write.
	writtenAt time.Time
	// unwritten means that the conditions of the last wait could not be written.
	unwritten bool
	// repairedAt is the time when a change by somebody else was last undone or accepted.
	repairedAt time.Time
	// namedAt is the time when AnnotationClass was last written without the finalizer, or
	// was refused.
	namedAt time.Time
	// heldSince is the time when the Service, which is another controller's, was first
	// seen to be held up by the finalizer.
	heldSince time.Time
	// refused is the value of seat.refused that an event has reported.
	refused string
	edits   edits
}

// unknownSet is no ID of a set.
const unknownSet = "unknown"

// failure says why the last call did not succeed. The zero value means that the last
// call has succeeded, or that there was no call.
type failure struct {
	cause message.Cause
	// text is the provider's error, for upstream's events.
	text   string
	during action
	// shape is the shape of the Service in the failed call. A call for another shape
	// is made at once.
	shape string
	// attempts is the number of calls in a row that have failed. The field delays is
	// the number of failures that lengthen the next delay. It leaves out failures after
	// which the provider asked for a pause.
	attempts, delays int
	// lasting is the number of the last failures in a row whose reasons do not end by
	// themselves. lastingSince is the time of the first of them.
	lasting      int
	lastingSince time.Time
	since        time.Time
	// until is the earliest time at which the call may be made again.
	until time.Time
}

// isEmpty reports whether nothing is remembered that a decision could depend on, except
// edits.
func (m memory) isEmpty() bool {
	return m.uid == "" && m.service == nil && len(m.recorded) == 0 && m.heldSince.IsZero()
}

// withFailure returns the memory after a call has failed. If the provider has asked for
// a pause, the delay is that pause, and later delays do not become longer.
func (m memory) withFailure(p plan, r outcome) memory {
	f, shape := m.failure, shapeFor(p.service)
	during := p.do
	if during == update {
		during = ensure // The next call ensures the whole load balancer.
	}
	if f.attempts == 0 || f.during != during || f.shape != shape {
		f = failure{during: during, shape: shape, since: r.at}
		if e := p.memory.edits; p.do == ensure && e.have(p.service) && !e.used.IsWhole(r.at) {
			f.delays = m.failure.delays // Only an edit after a long time resets the delays.
		}
	}
	f.cause, f.text = r.cause, r.text
	f.attempts++
	switch {
	case !r.lasts:
		f.lasting = 0
	case f.lasting == 0:
		f.lasting, f.lastingSince = 1, r.at
	default:
		f.lasting++
	}
	delay := r.pause
	if delay <= 0 {
		delay = retryDelay(f.delays)
		f.delays++
	}
	f.until = r.at.Add(delay)
	m.failure, m.uncertain = f, m.uncertain || !r.unmade
	return m
}

// withoutFailure returns the memory after a call has succeeded.
func (m memory) withoutFailure() memory {
	m.failure, m.uncertain, m.unwritten, m.offered = failure{}, false, false, ""
	m.recorded = nil
	return m
}

// withConditions returns the memory after these conditions have been written.
func (m memory) withConditions(conditions []metav1.Condition, now time.Time) memory {
	if len(conditions) == 0 {
		return m
	}
	written := map[string]metav1.ConditionStatus{}
	maps.Copy(written, m.written)
	for _, c := range conditions {
		written[c.Type] = c.Status
	}
	m.written, m.writtenAt = written, now
	return m
}

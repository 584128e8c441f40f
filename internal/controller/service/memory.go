package service

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// memory is what this process remembers of a Service between passes. It is a
// value: a plan changes a copy, and the copy is stored after the plan's writes.
type memory struct {
	uid types.UID
	// service is the Service of the last call. If the object no longer exists, the
	// provider gets this copy to delete the load balancer.
	service *corev1.Service
	// shape is the shape that the cloud was last brought in line with. backends
	// is the ID of the node set that the load balancer has. Both are empty if
	// not known.
	shape, backends string
	ensuredAt       time.Time
	// status is what the provider returned; nil: nothing yet.
	status *corev1.LoadBalancerStatus
	// published means that the Service has shown this status. contested means that
	// the Service has shown another status after that, and that the provider has
	// nevertheless returned this one again.
	published, contested bool
	// uncertain means that a call has failed, and that it is not known how much
	// of it was done.
	uncertain bool
	// elsewhere means that somebody else provides the load balancer.
	elsewhere bool
	// deleted means that the provider has confirmed that the load balancer is
	// gone.
	deleted bool
	failure failure
	// offered is the ID of the node set of an update that has failed since the
	// last call of Ensure.
	offered string
	// backendsUncertain means that a later call with another set than backends has
	// failed. The load balancer may have that set instead of backends.
	backendsUncertain bool
	// announced is the shape for which an event has announced the call.
	announced string
	recorded  recordedReason
	// recordedUpdate is about updates that are made while Ensure fails. The field
	// recorded is about all other failures.
	recordedUpdate recordedReason
	// written has the status of each condition that was written. writtenAt is
	// when the last one was written. The map is replaced and never changed.
	written   map[string]metav1.ConditionStatus
	writtenAt time.Time
	// unwritten means that the conditions of the last wait could not be written.
	unwritten bool
	// repairedAt is when a change by somebody else was last undone, askedAt when
	// the provider was last asked about one.
	repairedAt, askedAt time.Time
	// namedAt is when the annotation AnnotationClass was last written alone.
	namedAt time.Time
}

// failure is why the last call did not succeed. The zero value means that the last
// call has succeeded, or that there was none.
type failure struct {
	cause message.Cause
	// text is the provider's error, for upstream's events.
	text   string
	during action
	// shape is the shape of the call that has failed. Another shape is tried at
	// once.
	shape string
	// attempts is how many calls in a row have failed. delays is how many failures
	// have lengthened the delay: those that named no pause.
	attempts, delays int
	since            time.Time
	// until is when the call may be made again.
	until time.Time
}

// recordedReason is the reason and the time of the last event about a failure.
type recordedReason struct {
	reason string
	at     time.Time
}

// isEmpty reports whether nothing is remembered.
func (m memory) isEmpty() bool { return m.uid == "" && m.service == nil && m.recorded.reason == "" }

// withFailure returns the memory after a call has failed. If the provider asked
// for a pause, that pause is the delay, and it does not lengthen later delays.
func (m memory) withFailure(p plan, r outcome) memory {
	f, shape := m.failure, shapeFor(p.service)
	during := p.do
	if during == update {
		during = ensure // The next call ensures the whole load balancer.
	}
	if f.attempts == 0 || f.during != during || f.shape != shape {
		f = failure{during: during, shape: shape, since: r.at, delays: p.delays}
	}
	f.cause, f.text = r.cause, r.text
	f.attempts++
	delay := r.pause
	if delay <= 0 {
		delay = retryDelay(f.delays)
		f.delays++
	}
	f.until = r.at.Add(delay)
	m.failure, m.uncertain = f, true
	return m
}

// withoutFailure returns the memory after a call has succeeded.
func (m memory) withoutFailure() memory {
	m.failure, m.uncertain, m.unwritten, m.offered, m.backendsUncertain = failure{}, false, false, "", false
	m.recorded, m.recordedUpdate = recordedReason{}, recordedReason{}
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

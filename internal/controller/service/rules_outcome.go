package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// result is the kind of the outcome of a call to the provider.
type result string

const (
	failed    result = "failed"
	succeeded result = "succeeded"
	elsewhere result = "elsewhere" // somebody else provides the load balancer
)

// outcome is the outcome of a call to the provider.
type outcome struct {
	result result
	at     time.Time
	nodes  nodeSet // the set that the provider got
	// status is the status that Ensure returned.
	status *corev1.LoadBalancerStatus
	// cause and text say why the call has failed.
	cause message.Cause
	text  string
	// pause is the time that the provider has asked to wait, or 0 if it did not ask.
	pause time.Duration
	// lasts means that the call has failed for a reason that does not end by itself.
	lasts bool
	// unmade means that the call was not made, so nothing is half-made.
	unmade bool
	// exists means that the cloud was asked for the load balancer and has found it.
	exists bool
}

// conclude returns the memory after the call of a plan, and the events to record.
func conclude(p plan, r outcome) (memory, []message.Event) {
	m := p.memory
	m.mayExist = m.mayExist || m.isCutOff(p.service) || showsOne(p.service)
	m.deleted, m.edits = false, m.edits.after(p, r.at)
	if m.service == nil || isWhole(p.service) || p.do != remove && p.do != find { // A part of the Service must not replace the Service of an earlier call.
		m.service = p.service
	}
	switch p.do {
	case ensure:
		return m.ensured(p, r)
	case update:
		return m.updated(p, r)
	case remove:
		return m.removed(p, r)
	case find:
		return m.searched(r), nil
	case doNothing, forget, addFinalizer, publish, release, wait:
	}
	return p.memory, nil
}

// ensured returns the memory after Ensure, and the events to record.
func (m memory) ensured(p plan, r outcome) (memory, []message.Event) {
	m.mayExist = m.mayExist || r.result == succeeded || r.result == failed && !r.lasts
	switch r.result {
	case succeeded:
		var events []message.Event
		if !p.routine {
			events = append(events, ensuredEvent())
		}
		isFirstCheck := p.routine && m.backends == "" // An earlier process has recorded the event.
		if len(r.nodes.nodes) == 0 && m.backends != r.nodes.id && !isFirstCheck {
			events = append(events, noNodesEvent())
		}
		m = m.withStatus(p.service.Status.LoadBalancer, r).withoutFailure()
		m.shape, m.backends, m.ensuredAt, m.elsewhere = shapeOf(p.service), r.nodes.id, r.at, false
		return m, events
	case elsewhere:
		m = m.withoutFailure()
		m.elsewhere, m.shape = true, shapeOf(p.service)
		return m, nil
	case failed:
	}
	m = m.withFailure(p, r)
	if m.offered = ""; !r.unmade && r.nodes.id != m.backends && m.backends != "" {
		m.backends = unknownSet
	}
	return m, nil
}

// withStatus returns the memory with the status that Ensure has returned. The parameter
// given is the status in the Service that the provider got. If both are equal, the
// returned status says nothing new, because providers that write the address themselves
// return the Service's own status. If the provider returns the same status again, but
// the Service no longer shows it, somebody else has changed the address. It is put back
// at most once in showing.PutBackAfter.
func (m memory) withStatus(given corev1.LoadBalancerStatus, r outcome) memory {
	isSame := m.status != nil && isEqual(*m.status, *r.status)
	switch {
	case isEqual(given, *r.status):
		if m.published && !isSame {
			m.accepted, m.repairedAt = true, r.at
		}
		m.published, m.contested = true, false
	case !isSame:
		m.published, m.contested = false, false
	case m.published && r.at.Sub(m.repairedAt) >= showing.PutBackAfter:
		m.published, m.contested, m.accepted, m.repairedAt = false, true, false, r.at
	}
	m.status = r.status
	return m
}

// updated returns the memory after Update, and the events to record. After a failed
// update, Ensure is called, as in upstream, because the load balancer may no longer
// exist. An update that was not made is only delayed. If Ensure has failed before, an update changes neither that failure nor the
// time of the retry.
func (m memory) updated(p plan, r outcome) (memory, []message.Event) {
	m.mayExist = true
	switch isFirst := m.backends == ""; r.result {
	case succeeded:
		if m.failure.attempts == 0 {
			m = m.withoutFailure()
		}
		m.backends = r.nodes.id
		switch {
		case isFirst: // An earlier process has recorded the event.
			return m, nil
		case len(r.nodes.nodes) == 0:
			return m, []message.Event{noNodesEvent()}
		}
		return m, []message.Event{updatedEvent()}
	case elsewhere:
		m.backends = r.nodes.id
		return m, nil
	case failed:
	}
	if r.unmade && !m.uncertain {
		return m.withFailure(p, r), nil
	}
	if r.nodes.id != m.backends && m.backends != "" {
		m.backends = unknownSet
	}
	recordedAs := r.cause.Reason + " " + string(update)
	if m.offered = r.nodes.id; m.failure.attempts == 0 {
		m = m.withFailure(p, r)
		m.announced, m.recorded = shapeOf(p.service), m.recorded.With(r.cause.Reason, r.at)
	} else if !m.recorded.IsNew(recordedAs, r.at) {
		return m, nil
	}
	m.recorded = m.recorded.With(recordedAs, r.at)
	return m, []message.Event{updateFailedEvent(r.text)}
}

// removed returns the memory after Delete, and the events to record.
func (m memory) removed(p plan, r outcome) (memory, []message.Event) {
	switch r.result {
	case succeeded, elsewhere:
		m = m.withoutFailure()
		m.mayExist, m.search = false, search{}
		m.deleted, m.shape, m.status, m.published, m.contested, m.accepted = true, "", nil, false, false, false
		return m, []message.Event{deletedEvent()}
	case failed:
	}
	if given := p.service.Status.LoadBalancer; len(given.Ingress) > 0 {
		m.status = &given // The next Delete gets this address, even if the Service no longer has it.
	}
	if !r.lasts {
		m.search = search{}
	}
	return m.withFailure(p, r), nil
}

// providedElsewhere reports whether somebody else provides load balancers, according to
// this call. If the call does not show it, the second result is false. While somebody
// else provides load balancers, a new Service shows no condition until the provider was
// asked about it.
func providedElsewhere(p plan, r outcome, m memory) (is, known bool) {
	return m.elsewhere, m.elsewhere || p.do == ensure && r.result == succeeded
}

package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// presence is what is known of the existence of an instance. Only the cloud's own
// answer makes an instance absent.
type presence int

const (
	unknown presence = iota // the question has failed, or was never asked
	present
	absent // the cloud has said that it does not exist
)

// answer is the answer to one question about whether an instance exists.
type answer struct {
	presence presence
	// asked is when the question began; zero: none was asked.
	asked time.Time
	// failure is why the presence is unknown.
	failure message.Cause
	// notFound means that the failure is the error "instance not found".
	notFound bool
	// again is how long to wait before asking again if the cloud is down for all Nodes.
	// Then the presence is unknown. It is 0 if the cloud is not down.
	again time.Duration
	// power is what is known of the power state of a present instance.
	power power
}

// counted returns the answer as it counts for the Node that the question was
// about. With the limit NotFoundIsAbsent the error "instance not found" is an
// "absent" like any other, for a witness, too. If a name is not found, the instance
// may have another name. So the error counts only for a Node with a provider ID.
func (l Limits) counted(about *corev1.Node, a answer) answer {
	if !a.notFound || !l.NotFoundIsAbsent || about.Spec.ProviderID == "" {
		return a
	}
	return answer{presence: absent, asked: a.asked}
}

// power is what is known of the power state of an instance.
type power int

const (
	unknownPower power = iota // the question has failed, or was never asked
	running
	shutDown
)

// evidence is what the cloud has said of one Node while its kubelet was silent.
type evidence struct {
	uid        types.UID
	providerID string
	// presence is the last answer that the cloud has given.
	presence presence
	// absences is how many answers in a row have said "absent"; since is when the
	// first of them came.
	absences int
	since    time.Time
	// asked is when the last question with the answer "absent" began. answered
	// is when it ended.
	asked, answered time.Time
	// failure is why the last question had no answer; zero if it had one.
	failure message.Cause
	// checks counts the questions since the presence last changed. checkedAt is
	// when the last of them ended.
	checks    int
	checkedAt time.Time
	// again is how long to wait before asking again if the last question did not count,
	// because the cloud is down for all Nodes. It is 0 if the question counted.
	again time.Duration
}

// about returns the evidence if it is about this Node. If the Node has another
// UID or another provider ID, about returns empty evidence.
func (e evidence) about(node *corev1.Node) evidence {
	if e.uid == node.UID && e.providerID == node.Spec.ProviderID {
		return e
	}
	return evidence{uid: node.UID, providerID: node.Spec.ProviderID}
}

// with returns the evidence after an answer. A failure does not change the
// count of absences, and "present" sets it to zero.
func (e evidence) with(a answer, now time.Time) evidence {
	if a.asked.IsZero() {
		return e
	}
	e.failure, e.again, e.checkedAt = a.failure, a.again, now
	if a.again == 0 {
		e.checks++
	}
	switch a.presence {
	case unknown:
	case present:
		if e.presence != present {
			e.checks = 1
		}
		e = evidence{uid: e.uid, providerID: e.providerID, presence: present, checks: e.checks, checkedAt: now}
	case absent:
		if e.presence != absent {
			e.presence, e.since, e.checks = absent, now, 1
		}
		e.absences++
		e.asked, e.answered = a.asked, now
	}
	return e
}

// isConfirmed implements promise S1 b. It reports whether enough answers have
// said "absent". The question that led to the last of them must have been asked
// long enough after the first of them.
func (e evidence) isConfirmed(l Limits, needed time.Duration) bool {
	return e.presence == absent && e.absences >= l.Absences && (needed == 0 || e.asked.Sub(e.since) >= needed)
}

func absenceIsUnconfirmed(o observed) *obstacle {
	e, needed := o.memory.evidence, o.limits.absentFor(o.node, o.now)
	if e.isConfirmed(o.limits, needed) {
		return nil
	}
	return &obstacle{cause: notConfirmed(e, o.limits, needed)}
}

// pause is the time between the last question and the next. Until an absence is
// confirmed, the questions are spread over the time that is needed. Otherwise
// the pause doubles while the answers stay the same.
func (e evidence) pause(l Limits, needed time.Duration) time.Duration {
	if e.again > 0 {
		return e.again
	}
	first := l.FirstPause
	if e.presence == absent {
		first = max(first, needed/time.Duration(max(l.Absences-1, 1)))
		if e.failure.IsZero() && !e.isConfirmed(l, needed) {
			return first
		}
	}
	pause := first
	for n := 1; n < e.checks && pause < l.LongestPause; n++ {
		pause *= 2
	}
	return min(pause, max(first, l.LongestPause))
}

// minDelay is the shortest time after which an unchanged Node is decided on
// again.
const minDelay = time.Second

func (o observed) pause() time.Duration {
	return o.memory.evidence.pause(o.limits, o.limits.absentFor(o.node, o.now))
}

// isDue reports whether the cloud is to be asked now.
func (o observed) isDue() bool {
	at := o.memory.evidence.checkedAt
	return at.IsZero() || !o.now.Before(at.Add(o.pause()))
}

// untilDue returns the time until the cloud is asked again.
func (o observed) untilDue() time.Duration {
	return max(o.memory.evidence.checkedAt.Add(o.pause()).Sub(o.now), minDelay)
}

// needsPeers reports whether the decision looks at other Nodes. It does so once
// the absence is confirmed, or for a Node without a provider ID from the first
// absence on.
func (o observed) needsPeers() bool {
	e := o.memory.evidence.about(o.node).with(o.answer, o.now)
	return e.isConfirmed(o.limits, o.limits.absentFor(o.node, o.now)) || e.presence == absent && o.isAskedByName()
}

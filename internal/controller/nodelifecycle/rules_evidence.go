package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
)

// presence reports whether an instance exists, as far as that is known. Only an answer of
// the cloud makes an instance absent.
type presence int

const (
	unknown presence = iota // the question has failed, or was never asked
	present
	absent // the cloud has said that the instance does not exist
)

// answer is the result of one question to the cloud about the existence of an instance.
type answer struct {
	presence presence
	// asked is the time at which the question began. After any error other than
	// "instance not found", it is the time at which the question ended. It is zero if
	// no question was asked.
	asked time.Time
	// failure says why the presence is unknown.
	failure message.Cause
	// notFound means that the failure is the error "instance not found".
	notFound bool
	// again is the time to wait before the next question if the cloud is down for all
	// Nodes, and 0 otherwise. If the cloud is down, the presence is unknown.
	again time.Duration
	// power is the power state of a present instance, as far as it is known.
	power power
	// terminated is the end of an absent instance, if it is proven.
	terminated termination
}

// counted returns the answer with which the rules work. The Node of the question can
// also be a witness. If NotFoundIsAbsent is true, the error "instance not found" counts
// as the answer "absent". This applies only to a Node with a provider ID, because an
// instance that is not found by name might have another name.
func (l Limits) counted(about *corev1.Node, a answer) answer {
	if !a.notFound || !l.NotFoundIsAbsent || about.Spec.ProviderID == "" {
		return a
	}
	return answer{presence: absent, asked: a.asked}
}

// power is the power state of an instance, as far as it is known.
type power int

const (
	unknownPower power = iota // the question has failed, or was never asked
	running
	shutDown
)

// evidence sums up the cloud's answers about one Node since its kubelet fell silent.
type evidence struct {
	uid        types.UID
	providerID string
	// from is the time at which the first question of this silence was due, and
	// heartbeat is the kubelet's last report before the silence. Both are zero until
	// then.
	from, heartbeat time.Time
	// presence is the last answer of the cloud. A failed question does not change it.
	presence presence
	// absences is the number of answers "absent" since the last "present".
	absences int
	// since is the time of the first of these answers.
	since time.Time
	// asked and answered are the times at which the last question with the answer
	// "absent" began and ended.
	asked, answered time.Time
	// terminated is the end of the instance, if the last answer "absent" has proven it.
	terminated termination
	// failure says why the last question had no answer. It is zero if the cloud
	// answered.
	failure message.Cause
	// checks is the number of questions since the presence last changed. Questions that
	// failed because the cloud was down for all Nodes do not count.
	checks int
	// checkedAt is the time at which the last question ended.
	checkedAt time.Time
	// again is the time to wait before the next question if the cloud was down for all
	// Nodes at the last question, and 0 otherwise.
	again time.Duration
}

// about returns e if it is the evidence about this Node. If the UID or the provider ID
// differs, it returns empty evidence.
func (e evidence) about(node *corev1.Node) evidence {
	if e.uid == node.UID && e.providerID == node.Spec.ProviderID {
		return e
	}
	return evidence{uid: node.UID, providerID: node.Spec.ProviderID}
}

// begun returns the evidence of a silence in which the cloud is about to be asked.
func (e evidence) begun(node *corev1.Node, now time.Time) evidence {
	if e.from.IsZero() {
		e.from, e.heartbeat = now, heartbeat(node)
	}
	return e
}

// inSilence returns e if the kubelet has not reported since the first question, and
// empty evidence if it has. A pass can miss a report, because it can wait for the cloud
// for longer than a kubelet that comes back needs to fall silent again.
func (e evidence) inSilence(node *corev1.Node) evidence {
	if e.from.IsZero() || e.heartbeat.Equal(heartbeat(node)) {
		return e
	}
	return evidence{}.about(node)
}

// heard returns the answer as far as it is about this silence. The answer to a question
// that hangs comes late, and can be "absent" from before the kubelet last reported.
func (e evidence) heard(a answer) answer {
	if a.presence == absent && a.asked.Before(e.from) {
		return answer{asked: a.asked, failure: nodecause.OfEarlierQuestion()}
	}
	return a
}

// with returns the evidence after one more answer. A failure does not change the count
// of absences, and "present" sets it to zero.
func (e evidence) with(a answer, now time.Time) evidence {
	if a.asked.IsZero() {
		return e
	}
	a = e.heard(a)
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
		e = evidence{uid: e.uid, providerID: e.providerID, from: e.from, heartbeat: e.heartbeat, presence: present, checks: e.checks, checkedAt: now}
	case absent:
		if e.presence != absent {
			e.presence, e.since, e.checks = absent, now, 1
		}
		e.absences++
		e.asked, e.answered, e.terminated = a.asked, now, a.terminated
	}
	return e
}

// isConfirmed implements promise S1 b. It reports whether the cloud has said "absent"
// often enough, and for long enough. The time runs from the first of these answers to
// the beginning of the question with the last one.
func (e evidence) isConfirmed(l Limits, needed time.Duration) bool {
	return e.presence == absent && e.absences >= l.Absences && (needed == 0 || e.asked.Sub(e.since) >= needed)
}

func absenceIsUnconfirmed(o observed) *obstacle {
	e, needed := o.memory.evidence, o.limits.absentFor(o.node, o.now)
	if e.isConfirmed(o.limits, needed) {
		return nil
	}
	return &obstacle{cause: notConfirmed(e, o.limits, needed), ends: e.since.Add(needed)}
}

// pause returns the time between the last question and the next. Until an absence is
// confirmed, the questions are spread over the time that the confirmation needs.
// Otherwise, the pause doubles while the answers stay the same.
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

// minDelay is the shortest wait for the next question, for the end of an obstacle
// and for the next final check.
const minDelay = time.Second

func (o observed) pause() time.Duration {
	return o.memory.evidence.pause(o.limits, o.limits.absentFor(o.node, o.now))
}

// isDue reports whether the cloud should be asked now.
func (o observed) isDue() bool {
	at := o.memory.evidence.checkedAt
	return at.IsZero() || !o.now.Before(at.Add(o.pause()))
}

// untilDue returns the time until the cloud is asked again.
func (o observed) untilDue() time.Duration {
	return max(o.memory.evidence.checkedAt.Add(o.pause()).Sub(o.now), minDelay)
}

// needsPeers reports whether the decision looks at other Nodes: after the absence is
// confirmed or, for a Node without a provider ID, after the first absence.
func (o observed) needsPeers() bool {
	e := o.memory.of(o.node).evidence.with(o.answer, o.now)
	return e.isConfirmed(o.limits, o.limits.absentFor(o.node, o.now)) || e.presence == absent && o.isAskedByName()
}

// isFound reports whether the last question was answered "present".
func (o observed) isFound() bool {
	return o.memory.evidence.presence != absent && o.memory.evidence.failure.IsZero()
}

func found(o observed) plan {
	return stays(o, plan{
		do: doNothing, why: "the cloud says that the instance exists",
		after: o.untilDue(), taints: shutdownTaint(o.node, o.answer.power),
	}, isFound())
}

// existenceIsUnknown holds a Node if the last answer of the cloud was not "absent".
func existenceIsUnknown(o observed) *obstacle {
	if o.memory.evidence.presence == absent {
		return nil
	}
	return &obstacle{cause: notAnswered(o.memory.evidence.failure)}
}

// deletionIsSwitchedOff holds all Nodes.
func deletionIsSwitchedOff(o observed) *obstacle {
	if !o.limits.Off {
		return nil
	}
	return &obstacle{cause: deletionIsOff()}
}

// lastQuestionHasFailed holds a Node if the cloud did not answer the last question
// about the Node.
func lastQuestionHasFailed(o observed) *obstacle {
	if o.memory.evidence.failure.IsZero() {
		return nil
	}
	return &obstacle{cause: notAnswered(o.memory.evidence.failure)}
}

package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// presence is what the cloud has said of an instance. Only the cloud's own
// word makes an instance absent.
type presence int

const (
	unknown presence = iota // nobody could tell
	present
	absent // the cloud said so
)

// existence is the answer to one question whether an instance exists.
type existence struct {
	presence presence
	// asked is when the question began; zero: none was asked.
	asked time.Time
	// failure is why nobody could tell, where the presence is unknown.
	failure message.Cause
	// power is whether a present instance runs.
	power power
}

// power is whether an instance runs.
type power int

const (
	unknownPower power = iota // nobody could tell
	running
	shutDown
)

// evidence is what the cloud has said of one Node while its kubelet was silent.
type evidence struct {
	uid        types.UID
	providerID string
	// said is the cloud's last word.
	said presence
	// absences is how often the cloud has said absent, with no other word
	// between; since is when it first did.
	absences int
	since    time.Time
	// asked and answered are of the last absence.
	asked, answered time.Time
	// failure is why the last question had no answer; empty: it had one.
	failure message.Cause
	// looks counts the questions that told nothing new, lookedAt is the end of
	// the last one.
	looks    int
	lookedAt time.Time
}

// about is the evidence if it is about this Node: another UID or another
// provider ID is another instance.
func (e evidence) about(node *corev1.Node) evidence {
	if e.uid == node.UID && e.providerID == node.Spec.ProviderID {
		return e
	}
	return evidence{uid: node.UID, providerID: node.Spec.ProviderID}
}

// with is the evidence after an answer. What failed neither counts nor resets;
// "present" resets.
func (e evidence) with(a existence, now time.Time) evidence {
	if a.asked.IsZero() {
		return e
	}
	e.failure = a.failure
	e.looks++
	e.lookedAt = now
	switch a.presence {
	case unknown:
	case present:
		if e.said != present {
			e.looks = 1
		}
		e = evidence{uid: e.uid, providerID: e.providerID, said: present, looks: e.looks, lookedAt: now}
	case absent:
		if e.said != absent {
			e.said, e.since, e.looks = absent, now, 1
		}
		e.absences++
		e.asked, e.answered = a.asked, now
	}
	return e
}

// isConfirmed is the second part of S1: the cloud has said absent often enough,
// and the last question began long enough after the first answer.
func (e evidence) isConfirmed(l Limits, needed time.Duration) bool {
	return e.said == absent && e.absences >= l.Absences && (needed == 0 || e.asked.Sub(e.since) >= needed)
}

// pause is the time between the last question and the next. While the cloud
// says absent the questions are spread over the time that is needed; what tells
// nothing new is asked less and less often.
func (e evidence) pause(l Limits, needed time.Duration) time.Duration {
	first := l.FirstPause
	if e.said == absent {
		first = max(first, needed/time.Duration(max(l.Absences-1, 1)))
		if e.failure == (message.Cause{}) && !e.isConfirmed(l, needed) {
			return first
		}
	}
	pause := first
	for n := 1; n < e.looks && pause < l.LongestPause; n++ {
		pause *= 2
	}
	return min(pause, max(first, l.LongestPause))
}

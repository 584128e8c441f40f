package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// record sums up the cloud's answers about the existence of a Node's instance. All
// questions count, whatever their purpose.
type record struct {
	presence presence
	// asked is the time at which the last answered question began, and tried is the
	// time at which the last question ended, whether it was answered or not.
	asked, tried time.Time
	// since is the time of the first answer "absent" after the last "present". It
	// counts only while presence is absent.
	since time.Time
	// failed means that the last question had no answer.
	failed bool
	// confirmed means that the cloud has said "present" at least once.
	confirmed bool
}

// with returns the record after one more answer.
func (r record) with(a answer, now time.Time) record {
	r.tried, r.failed = now, a.presence == unknown
	if a.presence == unknown {
		return r
	}
	if r.presence != absent {
		r.since = now
	}
	r.presence, r.asked = a.presence, a.asked
	r.confirmed = r.confirmed || a.presence == present
	return r
}

// witnesses has the facts about other Nodes that show whether the cloud's answers can
// be trusted.
type witnesses struct {
	others    int // number of Nodes that can be witnesses, without foreign Nodes
	reporting int // number of these Nodes whose kubelets report
	seen      int // number of reporting Nodes that were confirmed after countedFrom
	failed    int // number of the other reporting Nodes for which the last question failed after countedFrom
	failing   int // number of the Nodes not in seen for which the last question failed, whenever that was
	// newest is the time at which the newest question with the answer "present" began.
	newest time.Time
	// contradicting is a Node that the cloud calls absent although its kubelet reports.
	// The field next is the witness about which the final check asks next.
	contradicting, next *peer
	// foreign has up to maxNamed foreign Nodes. Their kubelets report, although the
	// cloud has called them absent for ForeignAfter or longer.
	foreign []peer
	// foreigners is the number of all foreign Nodes.
	foreigners int
	// tooManyForeign means that so many Nodes seem to be foreign that this is unlikely.
	// In this case, the field contradicting has the foreign Node about which the cloud
	// was asked last.
	tooManyForeign bool
}

// witnesses sums up the answers about other Nodes. An answer "absent" is known to be
// wrong only if the kubelet of the Node still reports. A silent Node is no witness,
// because the control plane itself might be cut off from it.
func (o observed) witnesses() witnesses {
	c := o.candidates()
	w := witnesses{others: c.others, reporting: c.reporting, failing: c.failing, contradicting: c.denied, foreign: c.foreign, foreigners: c.foreigners}
	from := o.countedFrom()
	for _, r := range c.confirmed {
		if r.isConfirmedAfter(from) {
			w.seen++
			if r.failed {
				w.failing--
			}
		}
	}
	for _, r := range c.failed {
		if r.tried.After(from) && !r.isConfirmedAfter(from) {
			w.failed++
		}
	}
	if len(c.confirmed) > 0 {
		w.newest = c.confirmed[0].asked
	}
	if c.next != nil && c.next.record.tried.Before(o.memory.evidence.answered) {
		w.next = c.next
	}
	if w.contradicting == nil && w.foreigners > max(1, w.reporting*o.limits.Budget.Percent/100) {
		// Probably the cloud is wrong, or kubelets use the credentials of machines that
		// are gone.
		w.contradicting, w.tooManyForeign = &c.foreign[0], true
	}
	return w
}

func (r record) isConfirmedAfter(t time.Time) bool { return r.presence == present && r.asked.After(t) }

// countedFrom returns the time from which answers about other Nodes count. It is the
// later of two times. One is when the cloud first called this Node absent. The other is
// when the cloud last began to call another Node absent although the kubelet of that
// Node reports.
func (o observed) countedFrom() time.Time {
	since, called := o.memory.evidence.since, o.candidates().called
	if called.After(since) {
		return called
	}
	return since
}

// rank returns a number that orders Nodes independently of their names. Names often
// follow the order of creation, or the place of a Node.
func rank(node *corev1.Node) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node.UID)) // A hash never fails.
	return h.Sum64()
}

// failuresHoldFor is the time after which witnesses count for nothing if all questions
// about them fail. A failed question says neither that the cloud is right nor that it is
// wrong.
const failuresHoldFor = 10 * time.Minute

// areEnough implements promise S1 c. At least one other Node must have been confirmed
// after the last absence. Usually more than one must have been confirmed
// (Limits.Witnesses), because a faulty cloud might still list some of its instances.
// Nodes for which all questions fail must not hold all deletions for ever. At once, they
// are left out if they are fewer than those that the cloud confirms. After
// failuresHoldFor, they are left out anyway.
func (w *witnesses) areEnough(o observed) bool {
	needed := w.reporting
	switch {
	case w.seen > w.failed:
		needed -= w.failed
	case o.now.Sub(o.memory.evidence.since) >= failuresHoldFor:
		needed -= w.failing
	}
	return w.seen >= min(o.limits.Witnesses, needed) && !w.newest.IsZero() && !w.newest.Before(o.memory.evidence.answered)
}

// contradictionFor is the time for which deletions wait after a contradiction. After
// that time, the cloud is asked about the contradicting Node again.
const contradictionFor = 30 * time.Second

// A Node of a machine that has just ended contradicts the cloud until
// kube-controller-manager notices that its kubelet is silent, which takes less than
// dyingFor. So until the denial is that old, held deletions check every lookAgainAfter
// whether the kubelet has fallen silent. This makes no calls.
const (
	dyingFor       = time.Minute
	lookAgainAfter = 5 * time.Second
)

// contradictionIsFresh holds a Node if the cloud has just called another Node absent
// although the kubelet of that Node reports. After contradictionFor, the final check
// asks about the other Node again.
func contradictionIsFresh(o observed) *obstacle {
	w := o.witnesses()
	if w.contradicting == nil || o.limits.Witnesses == 0 || !o.now.Before(w.contradicting.record.tried.Add(contradictionFor)) {
		return nil
	}
	return o.contradicted(w)
}

// contradicted returns the obstacle for a Node that another Node keeps from being
// deleted because its kubelet reports. If there are so many such Nodes that the cloud
// is probably wrong, it is not known when the deletion can go on.
func (o observed) contradicted(w witnesses) *obstacle {
	ob := &obstacle{cause: contradicts(w)}
	r := w.contradicting.record
	switch again, soon := r.tried.Add(contradictionFor), o.now.Add(lookAgainAfter); {
	case w.tooManyForeign:
	case o.now.Sub(r.since) < dyingFor && soon.Before(again):
		ob.until = soon
	default:
		ob.until = again
	}
	return ob
}

// maxWitnessFailures is the number of questions about witnesses that may fail in a
// final check. After that, the check asks about no more witnesses. It also stops asking
// after Limits.Witnesses+maxWitnessFailures questions in all. But it always asks again
// about a contradicting Node.
const maxWitnessFailures = 5

// witnessed is the last step of the final check. While answers are missing, it asks
// about the next witness. If the answers are enough, it asks about the Node once more,
// and then removes the Node. Otherwise, it holds the Node. The question about the Node
// is repeated because the cloud might have been at fault when it called the Node
// absent, and might have recovered before it confirmed the witnesses.
func witnessed(o observed, c check) plan {
	w := o.witnesses()
	mayAsk := c.failures < maxWitnessFailures && c.questions < o.limits.Witnesses+maxWitnessFailures
	switch {
	case o.limits.Witnesses == 0:
		return removing(o, "the cloud says that the instance does not exist")
	case w.contradicting != nil && w.contradicting.record.tried.Before(o.memory.evidence.answered):
		return askingWitness(o, w.contradicting)
	case w.contradicting != nil:
		return heldInCheck(o, *o.contradicted(w))
	case c.again:
		return removing(o, fmt.Sprintf("the cloud says that the instance does not exist, and confirms %d other Nodes", max(w.seen, 1)))
	}
	if p := zoneDecides(o, mayAsk); p != nil {
		return *p
	}
	switch {
	case w.areEnough(o):
		return plan{do: askAgain, why: "the cloud may have recovered since it was asked about the Node", memory: o.memory}
	case w.next != nil && mayAsk:
		return askingWitness(o, w.next)
	case o.isForeign() && mayAsk && o.reference() != nil:
		return askingWitness(o, o.reference())
	case o.isForeign() && (w.others > 0 || len(o.peers.confirmed) > 0):
		return heldInCheck(o, obstacle{cause: isForeign(o.node)})
	case w.others > 0:
		return heldInCheck(o, obstacle{cause: tooFewWitnesses(w)})
	default:
		return alone(o)
	}
}

// reference returns a Node of another scheme to ask about, or nil. It is used if the
// provider has not confirmed any Node yet. The answer shows whether only this Node is
// foreign, or whether the cloud calls every Node absent.
func (o observed) reference() *peer {
	if p := o.peers.reference; p != nil && p.record.tried.Before(o.memory.evidence.answered) {
		return p
	}
	return nil
}

// isAskedByName reports whether the cloud is asked with the Node's name, because the
// Node has no provider ID.
func (o observed) isAskedByName() bool { return o.node.Spec.ProviderID == "" }

// isConfirmed reports whether the provider has ever confirmed a Node of this
// scheme. If the Node has no provider ID, the provider must have confirmed this
// Node itself, because answers about other Nodes say nothing about its name.
func (o observed) isConfirmed() bool {
	if !o.isAskedByName() {
		return o.peers.confirmed[nodefact.Scheme(o.node)]
	}
	return o.peers.nameIsKnown
}

// isForeign reports whether the Node might belong to another provider.
func (o observed) isForeign() bool { return o.owner().Doubt == ownership.NeverConfirmed }

func askingWitness(o observed, p *peer) plan {
	return plan{do: askWitness, why: "an answer about another Node is needed", witness: p.node, memory: o.memory}
}

func removing(o observed, why string) plan {
	p := plan{do: remove, why: why, memory: o.memory}
	if reason := o.memory.holding.reason; reason != "" && reason != absenceUnconfirmed.Name {
		p.events = append(p.events, deletionResumed(reason, why))
	}
	return p
}

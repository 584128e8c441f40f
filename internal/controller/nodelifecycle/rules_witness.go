package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// record is what the cloud has said of a Node when it was last asked whether
// its instance exists, for whatever reason.
type record struct {
	presence presence
	// asked is when the last question that had an answer began. tried is when
	// the last question ended, with or without an answer.
	asked, tried time.Time
	// since is when the cloud began to say "absent". It has given no other answer
	// since then.
	since time.Time
	// failed means that the last question had no answer.
	failed bool
	// confirmed means that the cloud has said "present" at some time.
	confirmed bool
}

// with returns the record after an answer.
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

// witnesses are the Nodes that show whether the cloud's answers can be trusted.
type witnesses struct {
	others    int // Nodes that could be asked about
	reporting int // how many of others have a kubelet that reports
	seen      int // how many of reporting were confirmed after countedFrom
	failed    int // how many of reporting have a last question that failed after countedFrom
	// newest is when the last question that was answered "present" began.
	newest time.Time
	// contradicting is a Node that the cloud calls absent although its kubelet
	// reports. next is the witness to ask about next.
	contradicting, next *peer
	// foreign are the Nodes that report although the cloud has called them absent
	// for ForeignAfter.
	foreign    []peer
	foreigners int
	// tooManyForeign means that there are too many foreign Nodes: they cannot all be
	// machines of other clouds. Then contradicting is the foreign Node about which the
	// cloud was asked last.
	tooManyForeign bool
}

// witnesses returns what the answers about other Nodes show. An answer "absent" is
// known to be wrong only if the Node that it is about still reports. Silent Nodes are
// no witnesses, because the control plane itself may be cut off from them.
func (o observed) witnesses() witnesses {
	c := o.peers.candidates
	w := witnesses{others: c.others, reporting: c.reporting, contradicting: c.denied, foreign: c.foreign, foreigners: c.foreigners}
	from := o.countedFrom()
	for _, r := range c.confirmed {
		if r.isConfirmedAfter(from) {
			w.seen++
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
		// It is unlikely that so many Nodes are foreign. Either the cloud is wrong,
		// or their kubelets use the credentials of machines that are gone.
		w.contradicting, w.tooManyForeign = &c.foreign[0], true
	}
	return w
}

func (r record) isConfirmedAfter(t time.Time) bool { return r.presence == present && r.asked.After(t) }

// countedFrom returns the time from which answers about other Nodes count. It is the
// later of two times: when the cloud first called this Node absent, and when it last
// began to call a Node absent whose kubelet reports.
func (o observed) countedFrom() time.Time {
	since, called := o.memory.evidence.since, o.peers.candidates.called
	if called.After(since) {
		return called
	}
	return since
}

// rank orders Nodes independently of their names, which often follow the order
// of their creation or their place.
func rank(node *corev1.Node) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node.UID)) // A hash never fails.
	return h.Sum64()
}

// areEnough implements promise S1 c. One other Node must have been confirmed after
// the last absence, and enough Nodes in all to notice a cloud that lists only some
// of its instances.
func (w *witnesses) areEnough(o observed) bool {
	needed := w.reporting
	if w.seen > w.failed {
		needed -= w.failed // A few Nodes for which all questions fail must not hold all deletions for ever.
	}
	return w.seen >= min(o.limits.Witnesses, needed) && !w.newest.IsZero() && !w.newest.Before(o.memory.evidence.answered)
}

// contradictionFor is how long a contradiction holds deletions before the cloud is
// asked about the contradicting Node again.
const contradictionFor = 30 * time.Second

// contradictionIsFresh holds a Node for contradictionFor after the cloud has
// called another Node absent whose kubelet reports. Later the final check asks
// about that Node again.
func contradictionIsFresh(o observed) *obstacle {
	w := o.witnesses()
	if w.contradicting == nil || o.limits.Witnesses == 0 {
		return nil
	}
	until := w.contradicting.record.tried.Add(contradictionFor)
	if !o.now.Before(until) {
		return nil
	}
	return &obstacle{cause: contradicts(w), until: until}
}

// maxWitnessFailures is how many questions about witnesses may fail in one final
// check. Limits.Witnesses+maxWitnessFailures is how many may be asked.
const maxWitnessFailures = 5

// witnessed is the last step of the final check. It asks about the next
// witness, removes the Node if the answers are enough, or holds it. After the
// witnesses it asks about the Node once more, because the cloud may have recovered in
// between: it called the Node absent before, and confirmed the witnesses after.
func witnessed(o observed, c check) plan {
	w := o.witnesses()
	mayAsk := c.failures < maxWitnessFailures && c.questions < o.limits.Witnesses+maxWitnessFailures
	switch {
	case o.limits.Witnesses == 0:
		return removing(o, "the cloud says that the instance does not exist")
	case w.contradicting != nil && w.contradicting.record.tried.Before(o.memory.evidence.answered):
		return askingWitness(o, w.contradicting)
	case w.contradicting != nil:
		return heldInCheck(o, obstacle{cause: contradicts(w)})
	case w.areEnough(o) && !c.again:
		return plan{do: askAgain, why: "the cloud may have recovered since it was asked about the Node", memory: o.memory}
	case c.again:
		return removing(o, fmt.Sprintf("the cloud says that the instance does not exist, and confirms %d other Nodes", max(w.seen, 1)))
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

// alone decides about a Node if there is no other Node that could be a witness.
// Such a Node is deleted only if the provider has ever confirmed a Node of its
// scheme, and the limit WithoutWitnessAfter allows it.
func alone(o observed) plan {
	until := o.memory.evidence.since.Add(o.limits.WithoutWitnessAfter)
	switch {
	case o.limits.WithoutWitnessAfter == 0 || !o.isConfirmed():
		return heldInCheck(o, obstacle{cause: noNodeLeft()})
	case o.now.Before(until):
		return heldInCheck(o, obstacle{cause: noNodeLeft(), until: until})
	default:
		return removing(o, "the cloud says that the instance does not exist, and there is no other Node that it could confirm")
	}
}

// reference returns a Node of another scheme to ask about, if the provider has
// not confirmed any Node yet. The answer shows whether this Node is foreign or
// the cloud calls every Node absent.
func (o observed) reference() *peer {
	if p := o.peers.reference; p != nil && p.record.tried.Before(o.memory.evidence.answered) {
		return p
	}
	return nil
}

// isAskedByName reports whether the Node has no provider ID, so that the cloud
// is asked by its name.
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

// isForeign reports whether the Node may be another provider's.
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

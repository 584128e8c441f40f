package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"slices"
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
	// since is when the cloud began to say "absent", without another answer in
	// between.
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

// peer is a Node of the cluster as the decision about another one sees it.
type peer struct {
	node *corev1.Node
	// presence and checked are from the evidence about it: the last presence,
	// and whether the cloud was asked at all.
	presence presence
	checked  bool
	// record is from questions by provider ID if the Node to decide about has
	// one, otherwise from questions by name.
	record record
}

// witnesses are the Nodes that show whether the cloud's answers can be trusted.
type witnesses struct {
	others    int // Nodes that could be asked about
	reporting int // those of others whose kubelets report
	seen      int // those of reporting that were confirmed after countedFrom
	failed    int // those of reporting for which the last question has failed after countedFrom
	// newest is when the last question that was answered "present" began.
	newest time.Time
	// contradicting is a Node that the cloud calls absent although its kubelet
	// reports. next is the witness to ask about next.
	contradicting, next *peer
	// foreign are the Nodes that report although the cloud has called them absent
	// for ForeignAfter. lastForeign is the one of them that was asked about last.
	foreign     []*corev1.Node
	lastForeign *peer
	// tooManyForeign means that foreign are too many for machines of others. Then
	// contradicting is one of them.
	tooManyForeign bool
}

// witnesses looks for Nodes of other instances that the cloud is asked about in
// the same way. They have the same provider-ID scheme and the same region, or
// the same zone if the region is not known. An "absent" is known to be wrong
// only if the kubelet of that Node reports. If no kubelet reports, the control
// plane itself may be cut off.
func (o observed) witnesses() witnesses {
	var w witnesses
	from := o.countedFrom()
	for i := range o.peers.nodes {
		p := &o.peers.nodes[i]
		switch {
		case !o.isComparable(p):
			continue
		case o.provesNothing(p):
			w.countForeign(o, p)
			continue
		}
		w.others++
		if !o.isReporting(*p) {
			continue
		}
		w.countReporting(p, from)
		if p.record.tried.Before(o.memory.evidence.answered) {
			w.next = preferred(p, w.next)
		}
	}
	if w.contradicting == nil && len(w.foreign) > max(1, w.reporting*o.limits.Budget.Percent/100) {
		// So many Nodes are hardly foreign. The cloud is wrong, or they pretend to
		// be machines that are gone.
		w.contradicting, w.tooManyForeign = w.lastForeign, true
	}
	return w
}

// countForeign counts a Node that proves nothing, if it is foreign.
func (w *witnesses) countForeign(o observed, p *peer) {
	if !o.isReporting(*p) || o.mayHaveAnotherName(p) {
		return
	}
	w.foreign = append(w.foreign, p.node)
	if w.lastForeign == nil || p.record.tried.After(w.lastForeign.record.tried) {
		w.lastForeign = p
	}
}

// countedFrom returns the time from which answers about other Nodes count. That
// is the first absence of this Node. If the cloud has later begun to call a
// Node absent whose kubelet reports, it is that time.
func (o observed) countedFrom() time.Time {
	from := o.memory.evidence.since
	for i := range o.peers.nodes {
		p := &o.peers.nodes[i]
		if p.record.presence == absent && p.record.since.After(from) && o.isComparable(p) && o.isReporting(*p) && !o.mayHaveAnotherName(p) {
			from = p.record.since
		}
	}
	return from
}

// countReporting counts a witness whose kubelet reports.
func (w *witnesses) countReporting(p *peer, from time.Time) {
	w.reporting++
	confirmed := p.record.presence == present && p.record.asked.After(from)
	if p.record.failed && p.record.tried.After(from) && !confirmed {
		w.failed++
	}
	switch p.record.presence {
	case unknown:
	case absent:
		if w.contradicting == nil || p.record.tried.After(w.contradicting.record.tried) {
			w.contradicting = p
		}
	case present:
		if confirmed {
			w.seen++
		}
		if p.record.asked.After(w.newest) {
			w.newest = p.record.asked
		}
	}
}

func (o observed) isReporting(p peer) bool {
	return !silenceOf(p.node, o.now, o.limits.SilentAfter).silent
}

// isComparable reports whether the cloud's answers about a Node show if its
// answers about the Node to decide about can be trusted.
func (o observed) isComparable(p *peer) bool {
	if o.leavesAlone(p.node) || p.node.Name == o.node.Name || nodefact.IsUninitialized(p.node) {
		return false
	}
	if id := o.node.Spec.ProviderID; id != "" && (p.node.Spec.ProviderID == id || !o.isOfSameScheme(p)) {
		return false
	}
	for _, place := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if own := o.node.Labels[place]; own != "" {
			return p.node.Labels[place] == own
		}
	}
	return true
}

// provesNothing reports whether nothing can be learnt from the answers about a
// Node. That is so for a silent Node that is absent itself, and for a foreign
// Node. A Node is foreign if its kubelet reports and the cloud has called it
// absent for so long that it must belong to another provider. If the cloud is
// asked by name, one "absent" is enough, because instances may have other names
// than their Nodes.
func (o observed) provesNothing(p *peer) bool {
	if !o.isReporting(*p) {
		return p.presence == absent
	}
	if o.mayHaveAnotherName(p) {
		return p.record.presence == absent
	}
	return p.record.presence == absent && o.now.Sub(p.record.since) >= o.limits.ForeignAfter
}

// mayHaveAnotherName reports whether the cloud is asked by name about a Node
// that it knows by a provider ID.
func (o observed) mayHaveAnotherName(p *peer) bool {
	return o.isAskedByName() && p.node.Spec.ProviderID != ""
}

// preferred returns which of two witnesses is asked about first. It is the one
// whose last question is older. If both are equally old, it is the one with the
// lower rank.
func preferred(p, than *peer) *peer {
	if than == nil {
		return p
	}
	first := rank(p.node) < rank(than.node)
	if a, b := p.record.tried, than.record.tried; !a.Equal(b) {
		first = a.Before(b)
	}
	if first {
		return p
	}
	return than
}

// rank orders Nodes independently of their names, which often follow the order
// of their creation or their place.
func rank(node *corev1.Node) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node.UID)) // A hash never fails.
	return h.Sum64()
}

// areEnough implements promise S1 c. One other Node was confirmed after the
// last absence. In all, enough Nodes were confirmed to notice a cloud that
// lists only some of its instances.
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
// check, and how many there may be beyond the witnesses that are needed.
const maxWitnessFailures = 5

// witnessed is the last step of the final check. It asks about the next
// witness, removes the Node if the answers are enough, or holds it.
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
	case w.areEnough(o):
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
	if len(o.peers.confirmed) > 0 {
		return nil
	}
	for i := range o.peers.nodes {
		p := &o.peers.nodes[i]
		if o.leavesAlone(p.node) || nodefact.IsUninitialized(p.node) || !o.isReporting(*p) {
			continue
		}
		if !o.isOfSameScheme(p) && p.node.Spec.ProviderID != "" && p.record.tried.Before(o.memory.evidence.answered) {
			return p
		}
	}
	return nil
}

// isAskedByName reports whether the Node has no provider ID, so that the cloud
// is asked by its name.
func (o observed) isAskedByName() bool { return o.node.Spec.ProviderID == "" }

// isOfSameScheme reports whether another Node has the same provider-ID scheme. A
// Node without a provider ID is of no scheme, also where provider IDs have
// none.
func (o observed) isOfSameScheme(p *peer) bool {
	return (p.node.Spec.ProviderID == "") == o.isAskedByName() && nodefact.Scheme(p.node) == nodefact.Scheme(o.node)
}

// isConfirmed reports whether the provider has ever confirmed a Node of this
// scheme. If the Node has no provider ID, the provider must have confirmed this
// Node itself, because answers about other Nodes say nothing about its name.
func (o observed) isConfirmed() bool {
	if !o.isAskedByName() {
		return o.peers.confirmed[nodefact.Scheme(o.node)]
	}
	return slices.ContainsFunc(o.peers.nodes, func(p peer) bool { return p.node.UID == o.node.UID && p.record.confirmed })
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

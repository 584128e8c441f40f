package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// record is what the cloud has said of a Node when it was last asked whether
// its instance exists, for whatever reason.
type record struct {
	presence presence
	// asked is when the last question with an answer began, tried when the last
	// question ended, which may have failed.
	asked, tried time.Time
	// since is when the cloud first said "absent", with no other answer between.
	since time.Time
	// failed reports whether the last question had no answer.
	failed bool
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
	return r
}

// peer is a Node of the cluster as the decision about another one sees it.
type peer struct {
	node *corev1.Node
	// presence and checked are of the evidence about it: the last presence, and
	// whether the cloud was asked at all.
	presence presence
	checked  bool
	// record is of the same kind of question as is asked about the decided Node.
	record record
}

// witnesses are the Nodes that show whether the cloud's answers can be trusted.
type witnesses struct {
	others    int // that could be asked
	reporting int // of them, whose kubelets report
	seen      int // of these, confirmed since countedFrom
	failed    int // of these, whose last question has failed since then
	// newest is when the youngest question began that was answered "present".
	newest time.Time
	// contradicting reports although the cloud says that it is absent; next is
	// the one to ask about next.
	contradicting, next *peer
	// foreign counts the Nodes that report and were denied for long;
	// lastForeign is the one that was denied last.
	foreign     int
	lastForeign *peer
}

// witnesses looks for Nodes about which the cloud is asked in the same way:
// another instance, the same provider-ID scheme, the same region (else zone).
// Only if their kubelets report is an "absent" known to be wrong. Where no
// kubelet reports, the control plane itself may be cut off.
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
	if w.contradicting == nil && w.foreign > max(1, w.reporting*o.limits.Budget.Percent/100) {
		w.contradicting = w.lastForeign // So many are not foreign: the cloud is wrong.
	}
	return w
}

// countForeign counts a Node that proves nothing about others.
func (w *witnesses) countForeign(o observed, p *peer) {
	if !o.isReporting(*p) || o.mayHaveAnotherName(p) {
		return
	}
	w.foreign++
	if w.lastForeign == nil || p.record.tried.After(w.lastForeign.record.tried) {
		w.lastForeign = p
	}
}

// countedFrom is from when on answers about others count: from the first
// absence, or from when a Node that reports was last found to be denied.
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

// isComparable reports whether the cloud's answers about a Node say something
// about its answers about the decided Node.
func (o observed) isComparable(p *peer) bool {
	if _, excluded := nodefact.IsExcluded(p.node); excluded || p.node.Name == o.node.Name || nodefact.IsUninitialized(p.node) {
		return false
	}
	if id := o.node.Spec.ProviderID; id != "" && (p.node.Spec.ProviderID == id || nodefact.Scheme(p.node) != nodefact.Scheme(o.node)) {
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
// Node. That is a silent Node that is absent itself, or a foreign one: its
// kubelet reports, and the cloud has denied it for so long that it belongs to
// another provider. By name a single denial proves nothing: instances may have
// other names than their Nodes.
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

// preferred returns which of two witnesses is asked first: the one that was not
// asked for longer, else the one with the lower rank.
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

// areEnough is promise S1 c: one other Node was confirmed after the last
// absence, and before it enough of them to notice a cloud that lists only some
// of its instances.
func (w *witnesses) areEnough(o observed) bool {
	needed := w.reporting
	if w.seen > w.failed {
		needed -= w.failed // A few that always fail must not hold all others for ever.
	}
	return w.seen >= min(o.limits.Witnesses, needed) && !w.newest.IsZero() && !w.newest.Before(o.memory.evidence.answered)
}

// contradictionFor is how long a contradiction stands before the cloud is asked
// again.
const contradictionFor = 30 * time.Second

// contradictionIsFresh holds while the cloud has just denied a Node that
// reports. Later the final check asks about it again.
func contradictionIsFresh(o observed) *obstacle {
	w := o.witnesses()
	if w.contradicting == nil || o.limits.Witnesses == 0 {
		return nil
	}
	until := w.contradicting.record.tried.Add(contradictionFor)
	if !o.now.Before(until) {
		return nil
	}
	return &obstacle{cause: contradicts(w.contradicting.node), until: until}
}

// maxWitnessFailures is how many questions about witnesses may fail in one final
// check, and how many there may be beyond the witnesses that are needed.
const maxWitnessFailures = 5

// witnessed is the end of the final check: the next witness to ask about, or
// whether the answers so far are enough.
func witnessed(o observed, c check) plan {
	w := o.witnesses()
	mayAsk := c.failures < maxWitnessFailures && c.questions < o.limits.Witnesses+maxWitnessFailures
	switch {
	case o.limits.Witnesses == 0:
		return removing(o, "the cloud says that the instance does not exist")
	case w.contradicting != nil && w.contradicting.record.tried.Before(o.memory.evidence.answered):
		return askingWitness(o, w.contradicting)
	case w.contradicting != nil:
		return heldInCheck(o, obstacle{cause: contradicts(w.contradicting.node)})
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

// alone decides about a Node if no other is left that could be confirmed. Such a
// Node is deleted only if the provider has confirmed others of its scheme, and
// the flag says so.
func alone(o observed) plan {
	until := o.memory.evidence.since.Add(o.limits.WithoutWitnessAfter)
	switch {
	case o.limits.WithoutWitnessAfter == 0 || !o.isConfirmedScheme():
		return heldInCheck(o, obstacle{cause: noNodeLeft()})
	case o.now.Before(until):
		return heldInCheck(o, obstacle{cause: noNodeLeft(), until: until})
	default:
		return removing(o, "the cloud says that the instance does not exist, and no other Node is left to be confirmed")
	}
}

// reference returns a Node of another scheme to ask about, if the provider has
// confirmed none at all yet. The answer tells a foreign Node from a cloud that
// denies everything.
func (o observed) reference() *peer {
	if len(o.peers.confirmed) > 0 {
		return nil
	}
	for i := range o.peers.nodes {
		p := &o.peers.nodes[i]
		if _, excluded := nodefact.IsExcluded(p.node); excluded || nodefact.IsUninitialized(p.node) || !o.isReporting(*p) {
			continue
		}
		if nodefact.Scheme(p.node) != nodefact.Scheme(o.node) && p.node.Spec.ProviderID != "" && p.record.tried.Before(o.memory.evidence.answered) {
			return p
		}
	}
	return nil
}

// isAskedByName reports whether the Node has no provider ID, so that the cloud
// is asked by its name.
func (o observed) isAskedByName() bool { return o.node.Spec.ProviderID == "" }

// isConfirmedScheme reports whether the provider has ever confirmed a Node of
// this scheme.
func (o observed) isConfirmedScheme() bool { return o.peers.confirmed[nodefact.Scheme(o.node)] }

// isForeign reports whether the Node may be another provider's.
func (o observed) isForeign() bool { return !o.isAskedByName() && !o.isConfirmedScheme() }

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

package nodelifecycle

import (
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
	// since is the time of the first answer "absent" after the last "present", or after a
	// time without questions. It counts only while presence is absent.
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
	wasShort := r.asked.Sub(r.since) < foreignFor // and so cannot go on after a long time
	if r.presence != absent || wasShort && a.asked.Sub(r.asked) >= foreignFor {
		r.since = now
	}
	r.presence, r.asked = a.presence, a.asked
	r.confirmed = r.confirmed || a.presence == present
	return r
}

// foreignFor is the time after which the cloud is asked again about a foreign Node. A
// denial that has not lasted for as long, and was not repeated for as long, begins again.
const foreignFor = 10 * time.Minute

// isForeign reports whether the cloud has denied the Node for so long that it must be
// another provider's. A single answer says nothing about later times, and an old one
// nothing about the present.
func (r record) isForeign(l Limits, now time.Time) bool {
	return r.presence == absent && r.asked.Sub(r.since) >= l.ForeignAfter && now.Sub(r.asked) < foreignFor
}

// witnesses sums up the facts about other Nodes that show whether the cloud's answers can
// be trusted.
type witnesses struct {
	others    int // number of Nodes that can be witnesses, without foreign Nodes
	reporting int // number of these Nodes whose kubelets report
	seen      int // number of reporting Nodes that were confirmed after countedFrom
	fresh     int // number of reporting Nodes that were confirmed after the last absence
	failed    int // number of reporting Nodes, not in seen, for which the last question failed after countedFrom
	failing   int // the same, whenever the last question failed
	// contradicting is a Node that the cloud calls absent although its kubelet reports. If
	// there are several, it is the one that the cloud was asked about last. next is the
	// witness to ask about next: the one that the cloud was asked about least recently.
	contradicting, next *peer
	// latest is the witness that was confirmed last, if it may be asked about next.
	latest *peer
	denied int // number of Nodes that the cloud calls absent although their kubelets report, without foreign Nodes
	// foreign has the Nodes that the cloud has called absent for ForeignAfter or longer,
	// although their kubelets report.
	foreign []*peer
	// tooManyForeign means that so many Nodes seem to be foreign that this is unlikely.
	// In this case, contradicting is the one of them that the cloud was asked about last.
	tooManyForeign bool
}

// witnesses sums up the answers about the Nodes that can be witnesses for this Node.
func (o observed) witnesses() witnesses { return o.among(o.candidates()) }

// among sums up the answers about these Nodes. An answer "absent" is known to be wrong
// only if the kubelet of the Node still reports. A silent Node is no witness, because the
// control plane itself might be cut off from it.
func (o observed) among(c candidates) witnesses {
	w := witnesses{others: c.silent + c.more, reporting: c.more}
	from := o.countedFrom(c)
	for i := range c.peers {
		switch p := &c.peers[i]; p.standing {
		case countsForeign:
			w.foreign = append(w.foreign, p)
		case countsDenied:
			w.others, w.reporting, w.denied = w.others+1, w.reporting+1, w.denied+1
			w.contradicting = later(w.contradicting, p)
		case countsTrusted:
			w.others, w.reporting = w.others+1, w.reporting+1
			w.trust(p, from, o.memory.evidence.answered)
		}
	}
	if w.contradicting == nil && len(w.foreign) > max(1, w.reporting*o.limits.Budget.Percent/100) {
		// Probably the cloud is wrong, or kubelets use the credentials of machines that
		// are gone.
		w.tooManyForeign = true
		for _, p := range w.foreign {
			w.contradicting = later(w.contradicting, p)
		}
	}
	return w
}

// trust adds a Node whose kubelet reports, and which the cloud has not called absent.
func (w *witnesses) trust(p *peer, from, answered time.Time) {
	r := p.record
	switch {
	case r.presence == present && r.asked.After(from):
		w.seen++
	case r.failed && r.tried.After(from):
		w.failed, w.failing = w.failed+1, w.failing+1
	case r.failed:
		w.failing++
	}
	if r.presence == present && !r.asked.Before(answered) {
		w.fresh++
	}
	if !r.tried.Before(answered) {
		return
	}
	if w.next == nil || p.isOlder(w.next) {
		w.next = p
	}
	if r.presence == present && !r.failed {
		w.latest = later(w.latest, p)
	}
}

// later returns the Node that the cloud was asked about last.
func later(a, b *peer) *peer {
	if a == nil || a.isOlder(b) {
		return b
	}
	return a
}

// countedFrom returns the time from which answers about other Nodes count. It is the
// later of two times. One is when the cloud first called this Node absent. The other is
// when the cloud last began to call another Node absent although the kubelet of that
// Node reports.
func (o observed) countedFrom(c candidates) time.Time {
	from := o.memory.evidence.since
	for _, p := range c.peers {
		if p.standing != countsTrusted && p.record.since.After(from) {
			from = p.record.since
		}
	}
	return from
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
// failuresHoldFor, they are left out anyway. Until then, half of all candidates have to be
// confirmed: if most kubelets are silent, the control plane may be cut off from them.
func (w *witnesses) areEnough(o observed) bool {
	needed := w.reporting
	switch {
	case w.seen > w.failed:
		needed -= w.failed
	case o.now.Sub(o.memory.evidence.since) >= failuresHoldFor:
		needed -= w.failing
	}
	if o.now.Sub(o.memory.evidence.since) < failuresHoldFor {
		needed = max(needed, (w.others+1)/2)
	}
	return w.seen >= min(o.limits.Witnesses, needed) && w.fresh > 0
}

// toAsk returns the witness to ask about next, or nil. If enough are confirmed, and only a
// fresh answer is missing, it is the one that was confirmed last: of all machines, this
// one is the least likely to have ended in the meantime.
func (w *witnesses) toAsk(o observed) *peer {
	if w.latest != nil && w.seen >= min(o.limits.Witnesses, w.reporting) {
		return w.latest
	}
	return w.next
}

// toAskMeanwhile returns a witness to ask about although another Node contradicts the
// cloud, or nil. If the machine of that Node has just ended, the contradiction is soon
// over. Then these answers count, and the next final check asks about one witness only,
// so it hardly meets another machine that has just ended.
func (w *witnesses) toAskMeanwhile(o observed) *peer {
	if w.denied != 1 || o.now.Sub(w.contradicting.record.since) >= dyingFor || w.seen >= min(o.limits.Witnesses, w.reporting-w.denied) {
		return nil
	}
	return w.next
}

// contradictionFor is the time for which deletions wait after a contradiction. After
// that time, the cloud is asked about the contradicting Node again.
const contradictionFor = 30 * time.Second

// dyingFor is longer than kube-controller-manager needs to notice that a kubelet is
// silent. Until then, the Node of a machine that has just ended contradicts the cloud. So
// while a denial is younger than this, held deletions look again and again whether the
// kubelet has fallen silent. This makes no calls.
const dyingFor = time.Minute

// looksFor is the pause between two such looks for each absent Node, but a Node waits for
// minDelay at least. So all Nodes together look 100 times a second at most.
const looksFor = 10 * time.Millisecond

// contradictionIsFresh holds a Node if the cloud has just called another Node absent
// although the kubelet of that Node reports. After contradictionFor, the final check
// asks about the other Node again.
func contradictionIsFresh(o observed) *obstacle {
	w := o.witnesses()
	if w.contradicting == nil || o.limits.Witnesses == 0 || o.memory.evidence.isTerminated() || !o.now.Before(w.contradicting.record.tried.Add(contradictionFor)) {
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
	if !w.tooManyForeign {
		ob.ends = r.since.Add(o.limits.ForeignAfter)
	}
	soon := o.now.Add(time.Duration(o.peers.absentees.absent) * looksFor)
	switch again := r.tried.Add(contradictionFor); {
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

// mayAsk reports whether the final check may ask about one more witness.
func (c check) mayAsk(l Limits) bool {
	return c.failures < maxWitnessFailures && c.questions < l.Witnesses+maxWitnessFailures
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

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. Such a Node
// has no provider ID and does not wait to be initialised, although other Nodes of this
// cloud have provider IDs. A cloud says "absent" about every machine that is not its
// own, so its answer proves nothing about this Node (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || o.owner().Doubt != ownership.NeverInitialized {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs. This is so
// if it has confirmed a Node by provider ID, or if a Node of this daemon has a provider
// ID. Provider IDs of Nodes that this daemon does not own do not count, because anybody
// might have set them.
func (o observed) hasProviderIDs() bool { return len(o.peers.confirmed) > 0 || o.peers.hasIDs }

// owner returns the verdict about who owns the Node.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
}

// aloneFor is the time for which a Node has to be absent if no other Node of its region
// can be a witness.
const aloneFor = 10 * time.Minute

// trustsElsewhere reports whether witnesses of other regions are enough for this Node.
// They say nothing about the cloud's view of the Node's own region. So the removal has to
// be announced. Or the provider has confirmed this very Node before, the Node has been
// absent for aloneFor, and it is within the budget: if many Nodes of a region are silent
// and absent together, the region is probably down, and its list is empty.
func (o observed) trustsElsewhere() bool {
	return o.limits.isAnnounced(o.node) || o.mayTrustLater() && !o.now.Before(o.aloneUntil())
}

// candidates returns the Nodes that can be witnesses. Nodes of other regions cannot,
// unless trustsElsewhere allows it.
func (o observed) candidates() candidates {
	if o.peers.elsewhere && !o.trustsElsewhere() {
		return candidates{}
	}
	return o.peers.candidates
}

// mayTrustLater reports whether trustsElsewhere can become true merely because time
// passes.
func (o observed) mayTrustLater() bool {
	a := o.peers.absentees
	return o.peers.elsewhere && o.peers.isKnown && a.absent <= o.limits.Budget.of(a.nodes)
}

func (o observed) aloneUntil() time.Time { return o.memory.evidence.since.Add(aloneFor) }

// alone returns the plan for a Node for which no other Node can be a witness. The Node
// is deleted if the provider has confirmed Nodes like it (see isConfirmed) and the limit
// WithoutWitnessAfter has passed. It is also deleted after aloneFor if the whole cluster
// is being scaled to zero.
func alone(o observed) plan {
	until := o.memory.evidence.since.Add(o.limits.WithoutWitnessAfter)
	if o.limits.WithoutWitnessAfter == 0 || !o.isConfirmed() {
		until = time.Time{}
	}
	isLeaving := o.clusterIsLeaving()
	if later := o.aloneUntil(); (isLeaving || o.mayTrustLater()) && (until.IsZero() || later.Before(until)) {
		until = later
	}
	switch {
	case until.IsZero():
		return heldInCheck(o, obstacle{cause: noNodeLeft()})
	case o.now.Before(until):
		return heldInCheck(o, obstacle{cause: noNodeLeft(), until: until, ends: until})
	case isLeaving:
		return removing(o, "the cloud says that the instance does not exist, and the removal of each Node is announced")
	default:
		return removing(o, "the cloud says that the instance does not exist, and there is no other Node to ask the cloud about")
	}
}

// clusterIsLeaving reports whether taints announce the removal of this Node and of all
// others, and all kubelets are silent. A kubelet cannot write such a taint. While a
// single other Node is left, the control plane may be cut off.
func (o observed) clusterIsLeaving() bool {
	return o.limits.isTainted(o.node) && o.peers.allLeave
}

// isMarked reports whether a label that no kubelet can write says that this manager has
// written the provider ID of the Node.
func isMarked(node *corev1.Node) bool {
	id := node.Spec.ProviderID
	return id != "" && node.Labels[nodefact.LabelIdentity] == nodefact.Identity(node.UID, id)
}

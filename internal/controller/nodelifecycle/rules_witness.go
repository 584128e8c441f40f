package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// sighting is what the cloud has said of a Node when it was last asked whether
// its instance exists, for whatever reason.
type sighting struct {
	said presence
	// asked is when that question began, tried when the last one ended, which
	// may have failed.
	asked, tried time.Time
	// since is when the cloud first said absent, with no other word between.
	since time.Time
	// failed tells that the last question had no answer.
	failed bool
}

// with is the sighting after an answer.
func (s sighting) with(a existence, now time.Time) sighting {
	s.tried, s.failed = now, a.presence == unknown
	if a.presence == unknown {
		return s
	}
	if s.said != absent {
		s.since = now
	}
	s.said, s.asked = a.presence, a.asked
	return s
}

// member is a Node of the cluster as the decision about another one sees it.
type member struct {
	node *corev1.Node
	// said and looked are of the evidence about it: the cloud's last word, and
	// whether the cloud has been asked at all.
	said   presence
	looked bool
	// sighting is of the same kind of question as is asked about the candidate.
	sighting sighting
}

// witnesses are the Nodes that can tell whether the cloud's answers are to be
// trusted.
type witnesses struct {
	others   int // that could be asked
	speaking int // of them, whose kubelets report
	seen     int // of these, present since the survey began
	mute     int // of these, whose last question failed since then
	// newest is when the youngest question began that was answered "present".
	newest time.Time
	// liar reports while the cloud says that it is absent; next is to be asked
	// next.
	liar, next *member
	// strangers report and have been denied for long; denier is the last of them.
	strangers int
	denier    *member
}

// witnesses looks for them among the Nodes whose answers come the same way:
// another instance, the same provider-ID scheme, the same region (else zone),
// and a kubelet that reports: only of those we know that an "absent" is wrong,
// and where nobody reports at all, it is we who are cut off.
func (c candidate) witnesses() witnesses {
	var w witnesses
	since := c.surveyBegan()
	for i := range c.roster.members {
		m := &c.roster.members[i]
		switch {
		case !c.mayWitness(m):
			continue
		case c.isUseless(m):
			w.countStranger(c, m)
			continue
		}
		w.others++
		if !c.speaks(m) {
			continue
		}
		w.countSpeaking(m, since)
		if m.sighting.tried.Before(c.memory.evidence.answered) {
			w.next = better(m, w.next)
		}
	}
	if w.liar == nil && w.strangers > max(1, w.speaking*c.limits.Budget.Percent/100) {
		w.liar = w.denier // So many are no strangers: the cloud is wrong.
	}
	return w
}

// countStranger takes a Node in that says nothing about others.
func (w *witnesses) countStranger(c candidate, m *member) {
	if !c.speaks(m) || c.mayBeNamedOtherwise(m) {
		return
	}
	w.strangers++
	if w.denier == nil || m.sighting.tried.After(w.denier.sighting.tried) {
		w.denier = m
	}
}

// surveyBegan is from when on answers about others count: from the first
// absence, or from when a Node that reports was last found to be denied.
func (c candidate) surveyBegan() time.Time {
	since := c.memory.evidence.since
	for i := range c.roster.members {
		m := &c.roster.members[i]
		if m.sighting.said == absent && m.sighting.since.After(since) && c.mayWitness(m) && c.speaks(m) && !c.mayBeNamedOtherwise(m) {
			since = m.sighting.since
		}
	}
	return since
}

// countSpeaking takes a witness in whose kubelet reports.
func (w *witnesses) countSpeaking(m *member, since time.Time) {
	w.speaking++
	if m.sighting.failed && m.sighting.tried.After(since) && (m.sighting.said != present || !m.sighting.asked.After(since)) {
		w.mute++
	}
	switch m.sighting.said {
	case unknown:
	case absent:
		if w.liar == nil || m.sighting.tried.After(w.liar.sighting.tried) {
			w.liar = m
		}
	case present:
		if m.sighting.asked.After(since) {
			w.seen++
		}
		if m.sighting.asked.After(w.newest) {
			w.newest = m.sighting.asked
		}
	}
}

func (c candidate) speaks(m *member) bool {
	return !silenceOf(m.node, c.now, c.limits.SilentAfter).silent
}

func (c candidate) mayWitness(m *member) bool {
	if _, excluded := nodefact.IsExcluded(m.node); excluded || m.node.Name == c.node.Name || nodefact.IsUninitialized(m.node) {
		return false
	}
	if id := c.node.Spec.ProviderID; id != "" && (m.node.Spec.ProviderID == id || nodefact.Scheme(m.node) != nodefact.Scheme(c.node)) {
		return false
	}
	for _, place := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if own := c.node.Labels[place]; own != "" {
			return m.node.Labels[place] == own
		}
	}
	return true
}

// isUseless tells whether nothing can be learnt from a Node: a silent one that
// is absent itself, or a stranger. That is a Node that reports and that the
// cloud has denied for so long that it does not know it at all: it belongs to
// somebody else, and says nothing about other answers. By name a denial says
// nothing at once: instances may have other names than their Nodes.
func (c candidate) isUseless(m *member) bool {
	if !c.speaks(m) {
		return m.said == absent
	}
	if c.mayBeNamedOtherwise(m) {
		return m.sighting.said == absent
	}
	return m.sighting.said == absent && c.now.Sub(m.sighting.since) >= c.limits.ForeignAfter
}

// mayBeNamedOtherwise tells whether the cloud is asked by name about a Node that
// is known to it by a provider ID.
func (c candidate) mayBeNamedOtherwise(m *member) bool {
	return c.isNameless() && m.node.Spec.ProviderID != ""
}

// better is who is to be asked first: who was not asked for the longest time,
// then in an order that has nothing to do with names.
func better(m, than *member) *member {
	if than == nil {
		return m
	}
	first := lot(m.node) < lot(than.node)
	if a, b := m.sighting.tried, than.sighting.tried; !a.Equal(b) {
		first = a.Before(b)
	}
	if first {
		return m
	}
	return than
}

func lot(node *corev1.Node) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node.UID)) // A hash never fails.
	return h.Sum64()
}

// areEnough is the third part of S1: after the last absence another Node was
// said to be present, and before it so many that a cloud which knows only some
// of its instances is found out.
func (w *witnesses) areEnough(c candidate) bool {
	needed := w.speaking
	if w.seen > w.mute {
		needed -= w.mute // Few that always fail must not hold all others for ever.
	}
	return w.seen >= min(c.limits.Witnesses, needed) && !w.newest.IsZero() && !w.newest.Before(c.memory.evidence.answered)
}

// askLiarAgain is how long a contradiction stands before the cloud is asked
// again.
const askLiarAgain = 30 * time.Second

// contradicted holds while the cloud is known to deny a Node that reports.
func contradicted(c candidate) *obstacle {
	w := c.witnesses()
	if w.liar == nil || c.limits.Witnesses == 0 {
		return nil
	}
	until := w.liar.sighting.tried.Add(askLiarAgain)
	if c.lastLook.isOn || !c.now.Before(until) {
		return nil // The last look asks again.
	}
	return &obstacle{cause: contradicts(w.liar.node), until: until}
}

// patience is how many witnesses may fail to answer in one last look.
const patience = 5

// witnessed is the end of the last look: the next witness to ask, or whether
// what they have said is enough.
func witnessed(c candidate) removalPlan {
	w := c.witnesses()
	mayAsk := c.lastLook.failures < patience && c.lastLook.questions < c.limits.Witnesses+patience
	switch alone := c.memory.evidence.since.Add(c.limits.WithoutWitnessAfter); {
	case c.limits.Witnesses == 0:
		return removing(c, "the cloud says that the instance is gone")
	case w.liar != nil && w.liar.sighting.tried.Before(c.memory.evidence.answered):
		return asking(c, w.liar)
	case w.liar != nil:
		return held(c, obstacle{cause: contradicts(w.liar.node)})
	case w.areEnough(c):
		return removing(c, fmt.Sprintf("the cloud says that the instance is gone, and confirms %d other Nodes", max(w.seen, 1)))
	case w.next != nil && mayAsk:
		return asking(c, w.next)
	case !c.isNameless() && !c.isOurs() && mayAsk && c.reference() != nil:
		return asking(c, c.reference())
	case !c.isNameless() && !c.isOurs() && (w.others > 0 || len(c.roster.confirmed) > 0):
		return held(c, obstacle{cause: isForeign(c.node)})
	case w.others > 0:
		return held(c, obstacle{cause: tooFewWitnesses(w)})
	case c.limits.WithoutWitnessAfter > 0 && c.isOurs() && !c.now.Before(alone):
		return removing(c, "the cloud says that the instance is gone, and no other Node is left to be confirmed")
	case c.limits.WithoutWitnessAfter > 0 && c.isOurs():
		return held(c, obstacle{cause: noNodeLeft(), until: alone})
	default:
		return held(c, obstacle{cause: noNodeLeft()})
	}
}

// reference is a Node of another scheme that is to be asked about, where the
// provider has confirmed none at all yet: whether it knows any tells a Node of
// somebody else from a cloud that denies everything.
func (c candidate) reference() *member {
	if len(c.roster.confirmed) > 0 {
		return nil
	}
	for i := range c.roster.members {
		m := &c.roster.members[i]
		if _, excluded := nodefact.IsExcluded(m.node); excluded || nodefact.IsUninitialized(m.node) || !c.speaks(m) {
			continue
		}
		if nodefact.Scheme(m.node) != nodefact.Scheme(c.node) && m.node.Spec.ProviderID != "" && m.sighting.tried.Before(c.memory.evidence.answered) {
			return m
		}
	}
	return nil
}

// isNameless tells whether the Node has no provider ID, so that the cloud is
// asked by its name.
func (c candidate) isNameless() bool { return c.node.Spec.ProviderID == "" }

// isOurs tells whether the provider has ever confirmed a Node of this scheme.
func (c candidate) isOurs() bool { return c.roster.confirmed[nodefact.Scheme(c.node)] }

func asking(c candidate, m *member) removalPlan {
	return removalPlan{do: askWitness, why: "an answer about another Node is needed", witness: m.node, memory: c.memory}
}

func removing(c candidate, why string) removalPlan {
	p := removalPlan{do: remove, why: why, memory: c.memory}
	if reason := c.memory.holding.reason; reason != "" && reason != absenceUnconfirmed.Name {
		p.events = []message.Event{deletionResumed(reason, why)}
	}
	return p
}

package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// index has all Nodes, and keeps counts of them for the decision about each. A change
// of a Node changes the counts, so that no decision goes through all Nodes. After any
// changes the counts are those of a recount.
type index struct {
	limits  Limits
	claim   ownership.Claim
	members map[string]*member   // by name
	holders map[string][]*member // by provider ID
	withID  int                  // Nodes of this daemon that have a provider ID
	kins    map[kin]*absentees
	circles map[circle]*tally
	due     ordered // members that will count otherwise after some time, even if nothing happens
	// confirmed has the provider-ID schemes of Nodes whose instances the provider
	// has ever called present.
	confirmed map[string]bool
	// deleted has the times of the deletions in the last minute, in order, without
	// those of Nodes that a taint announced. An element never changes, so that
	// decisions may keep the slice.
	deleted []time.Time
}

func newIndex(limits Limits, claim ownership.Claim) *index {
	return &index{
		limits: limits, claim: claim,
		members: map[string]*member{}, holders: map[string][]*member{}, kins: map[kin]*absentees{}, circles: map[circle]*tally{},
		due:       orderedBy(func(m *member) time.Time { return m.due }),
		confirmed: map[string]bool{},
	}
}

// member is one Node of the index.
type member struct {
	facts

	node *corev1.Node // from the informer; must not be changed
	rank uint64
	// presence and checked are from the evidence about the Node: the last presence,
	// and whether the cloud was asked at all.
	presence presence
	checked  bool
	// byID and byName are the records of questions by provider ID and by name.
	byID, byName record
	// viaID and viaName are how the Node counts for Nodes that are asked about by
	// provider ID and by name.
	viaID, viaName standing
	due            time.Time // when time alone changes how the Node counts; zero: never
}

// facts are the properties of a Node on which the counts depend.
type facts struct {
	id, scheme          string
	region, zone        string
	disowned, leftAlone bool
	uninitialized       bool
	announced           bool
	silence             silence
}

func (i *index) factsOf(node *corev1.Node, now time.Time) facts {
	_, disowned := i.claim.Disowns(node)
	return facts{
		id:            node.Spec.ProviderID,
		scheme:        nodefact.Scheme(node),
		region:        node.Labels[corev1.LabelTopologyRegion],
		zone:          node.Labels[corev1.LabelTopologyZone],
		disowned:      disowned,
		leftAlone:     disowned || node.DeletionTimestamp != nil,
		uninitialized: nodefact.IsUninitialized(node),
		announced:     i.limits.isAnnounced(node),
		silence:       silenceOf(node, now, i.limits.SilentAfter),
	}
}

// set adds a Node, or takes note of its change.
func (i *index) set(node *corev1.Node, e evidence, now time.Time) {
	m, is := i.members[node.Name], i.factsOf(node, now)
	switch {
	case m == nil:
		m = &member{node: node, rank: rank(node)}
		i.members[node.Name] = m
	case m.node.UID != node.UID:
		i.uncount(m)
		*m = member{node: node, rank: rank(node)}
	case m.facts == is:
		m.node = node
		return
	default:
		i.uncount(m)
	}
	m.node, m.facts = node, is
	m.judge(e)
	i.count(m, now)
}

// remove drops a Node.
func (i *index) remove(name string) {
	if m := i.members[name]; m != nil {
		i.uncount(m)
		delete(i.members, name)
	}
}

// judge takes note of the evidence about a Node.
func (i *index) judge(name string, e evidence, now time.Time) {
	m := i.members[name]
	if m == nil {
		return
	}
	about := e.about(m.node)
	if m.presence != about.presence || m.checked == about.checkedAt.IsZero() {
		i.change(m, now, func() { m.judge(e) })
	}
}

func (m *member) judge(e evidence) {
	about := e.about(m.node)
	m.presence, m.checked = about.presence, !about.checkedAt.IsZero()
}

// record takes note of an answer about a Node, for the decisions about others.
func (i *index) record(about *corev1.Node, a answer, now time.Time) {
	byName := about.Spec.ProviderID == ""
	if a.presence == present && !byName {
		i.confirmed[nodefact.Scheme(about)] = true
	}
	if m := i.members[about.Name]; m != nil && m.node.UID == about.UID {
		i.change(m, now, func() { *m.record(byName) = m.record(byName).with(a, now) })
	}
}

// change changes a member and counts it again.
func (i *index) change(m *member, now time.Time, f func()) {
	i.uncount(m)
	f()
	m.facts = i.factsOf(m.node, now)
	i.count(m, now)
}

// advance takes note of the time. A kubelet that reports nothing more falls silent,
// and a Node that the cloud keeps calling absent becomes foreign.
func (i *index) advance(now time.Time) {
	for m := i.due.first(); m != nil && !now.Before(m.due); m = i.due.first() {
		i.change(m, now, func() {})
	}
	for len(i.deleted) > 0 && now.Sub(i.deleted[0]) >= time.Minute {
		i.deleted = i.deleted[1:]
	}
}

// peers returns what is known of all Nodes together for the decision about this
// one.
func (i *index) peers(node *corev1.Node, now time.Time) peers {
	i.advance(now)
	own := i.members[node.Name]
	p := peers{
		absentees:   i.absentees(node, own),
		candidates:  i.candidates(node, own),
		hasIDs:      i.withID > 0,
		confirmed:   maps.Clone(i.confirmed),
		nameIsKnown: own != nil && own.node.UID == node.UID && own.byName.confirmed,
		deleted:     slices.Clip(i.deleted),
	}
	if len(i.confirmed) == 0 {
		p.reference = i.reference(kinOf(node))
	}
	return p
}

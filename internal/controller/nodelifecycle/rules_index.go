package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// index has all Nodes, and the counts that decisions need. Each change of a Node
// updates the counts, so that no decision has to go through all Nodes. The counts
// always equal those of a recount of all Nodes.
type index struct {
	limits  Limits
	claim   ownership.Claim
	members map[string]*member   // by name
	holders map[string][]*member // by provider ID
	withID  int                  // number of Nodes of this daemon that have a provider ID
	kins    map[kin]*absentees
	circles map[circle]*tally
	zones   map[circle]*zoneView // only the fields nodes and reporting
	// recanted has the last time at which the cloud has called an instance present after
	// it had called it absent, if that was less than doubtFor ago.
	recanted map[kin]time.Time
	due      ordered // members whose field due is set
	// confirmed has the provider-ID schemes for which the provider has called at least
	// one instance present.
	confirmed map[string]bool
	// deleted has the times of the deletions in the last minute, in order, for each kin.
	// It leaves out Nodes whose removal was announced by a taint. Elements never change,
	// so a decision can keep a slice.
	deleted map[kin][]time.Time
}

func newIndex(limits Limits, claim ownership.Claim) *index {
	return &index{
		limits: limits, claim: claim,
		members: map[string]*member{}, holders: map[string][]*member{}, kins: map[kin]*absentees{}, circles: map[circle]*tally{},
		zones: map[circle]*zoneView{}, recanted: map[kin]time.Time{},
		due:       orderedBy(func(m *member) time.Time { return m.due }),
		confirmed: map[string]bool{},
		deleted:   map[kin][]time.Time{},
	}
}

// member is one Node of the index.
type member struct {
	facts

	node *corev1.Node // from the informer; must not be changed
	rank uint64
	// presence is the last answer in the evidence about the Node.
	presence presence
	// checked means that, according to this evidence, the cloud was asked at least once.
	checked bool
	// byID and byName are the records of questions by provider ID and by name.
	byID, byName record
	// viaID and viaName are the standings of the Node for questions by provider ID and
	// for questions by name.
	viaID, viaName standing
	due            time.Time // when the Node next counts differently merely because time has passed; zero: never
}

// facts are the properties of a Node on which the counts depend.
type facts struct {
	id, scheme          string
	region, zone        string
	disowned, leftAlone bool
	uninitialized       bool
	announced, tainted  bool // announced at all, and by a taint
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
		tainted:       nodefact.IsAnnounced(node),
		silence:       silenceOf(node, now, i.limits.SilentAfter),
	}
}

// set adds a Node, or updates it after a change.
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

// judge updates the counts for new evidence about a Node.
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

// record stores an answer about a Node, for decisions about other Nodes.
func (i *index) record(about *corev1.Node, a answer, now time.Time) {
	byName := about.Spec.ProviderID == ""
	if a.presence == present && !byName {
		i.confirmed[nodefact.Scheme(about)] = true
	}
	if m := i.members[about.Name]; m != nil && m.node.UID == about.UID {
		if m.record(byName).presence == absent && a.presence == present {
			i.recanted[kinOf(about)] = now
		}
		i.change(m, now, func() { *m.record(byName) = m.record(byName).with(a, now) })
	}
}

// change calls f, which changes a member, and counts the member again.
func (i *index) change(m *member, now time.Time, f func()) {
	i.uncount(m)
	f()
	m.facts = i.factsOf(m.node, now)
	i.count(m, now)
}

// advance updates the counts that change merely because time has passed. A kubelet that
// sends no reports becomes silent, and a Node that the cloud keeps calling absent
// becomes foreign.
func (i *index) advance(now time.Time) {
	for m := i.due.first(); m != nil && !now.Before(m.due); m = i.due.first() {
		i.change(m, now, func() {})
	}
	maps.DeleteFunc(i.recanted, func(_ kin, at time.Time) bool { return now.Sub(at) >= doubtFor })
	for k, all := range i.deleted {
		for len(all) > 0 && now.Sub(all[0]) >= time.Minute {
			all = all[1:]
		}
		i.deleted[k] = all
		if len(all) == 0 {
			delete(i.deleted, k)
		}
	}
}

// countDeletion counts a deletion for the rate of the Node's kin.
func (i *index) countDeletion(node *corev1.Node, now time.Time) {
	i.deleted[kinOf(node)] = append(i.deleted[kinOf(node)], now)
}

// peers returns the facts that the decision about this Node needs, gathered from all
// Nodes.
func (i *index) peers(node *corev1.Node, now time.Time) peers {
	i.advance(now)
	own := i.members[node.Name]
	p := peers{
		absentees:   i.absentees(node, own),
		isKnown:     isMarked(node) || own != nil && own.node.UID == node.UID && own.byID.confirmed,
		recanted:    i.recanted[kinOf(node)],
		allLeave:    i.allLeave(),
		hasIDs:      i.withID > 0,
		confirmed:   maps.Clone(i.confirmed),
		nameIsKnown: own != nil && own.node.UID == node.UID && own.byName.confirmed,
		deleted:     slices.Clip(i.deleted[kinOf(node)]),
	}
	p.candidates = i.candidates(circleOf(node), node, own)
	if p.candidates.others+p.candidates.foreigners == 0 {
		if c := i.candidates(circle{kin: kinOf(node)}, node, own); c.reporting > 0 {
			p.candidates, p.elsewhere = c, true
		}
	}
	if a := p.absentees; a.absent > i.limits.Budget.of(a.nodes) {
		p.zone = i.zone(node, own)
	}
	if len(i.confirmed) == 0 {
		p.reference = i.reference(kinOf(node))
	}
	return p
}

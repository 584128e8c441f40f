package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// freshFor is the time for which a snapshot is used.
const freshFor = time.Second

// snapshot has the counts of all Nodes at one time. It never changes, and decisions about
// many Nodes share it.
type snapshot struct {
	at     time.Time
	limits Limits
	claim  ownership.Claim
	groups map[cell]*group
	// found has the names of the silent Nodes that do not count as absent, although their
	// removal is not announced, with the times at which the cloud was last asked about them.
	found map[string]time.Time
	// hasIDs means that at least one Node of this daemon has a provider ID.
	hasIDs bool
	// anyStays means that not all Nodes leave: at least one reports, or no taint announces
	// its removal.
	anyStays bool
}

func newSnapshot(limits Limits, claim ownership.Claim, now time.Time) *snapshot {
	return &snapshot{at: now, limits: limits, claim: claim, groups: map[cell]*group{}, found: map[string]time.Time{}}
}

// cell names the Nodes that share a budget and a zone.
type cell struct {
	kin   kin
	place place
}

// kin names the Nodes that share a budget: the Nodes of one provider-ID scheme, or the
// Nodes without provider IDs.
type kin struct {
	by     key
	scheme string
}

// key says how the cloud is asked about a Node: by its provider ID or, if it has none, by
// its name.
type key int

const (
	byID key = iota
	byName
)

func keyOf(node *corev1.Node) key {
	if node.Spec.ProviderID == "" {
		return byName
	}
	return byID
}

func kinOf(node *corev1.Node) kin { return kin{keyOf(node), nodefact.Scheme(node)} }

// place has the region and the zone of a Node. An empty name is not known. The same zone
// name in two regions means two zones.
type place struct{ region, zone string }

func placeOf(node *corev1.Node) place {
	return place{node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]}
}

// isNear reports whether Nodes in the other place can be witnesses: it is in the same
// region or, if the region is not known, in the same zone.
func (p place) isNear(other place) bool {
	switch {
	case p.region != "":
		return other.region == p.region
	case p.zone != "":
		return other.zone == p.zone
	default:
		return true
	}
}

// group has the Nodes of one cell that this daemon may touch.
type group struct {
	absentees

	reporting int         // number of Nodes whose kubelets report
	found     []time.Time // as in the snapshot, in order
	// reports has the Nodes that can be witnesses. silent has those that could be if their
	// kubelets reported. It leaves out Nodes that the cloud calls absent.
	reports, silent []*corev1.Node
	// denied has those of reports that the cloud called absent when the snapshot was made.
	denied []*corev1.Node
}

// absentees has the number of Nodes that share a budget, and of those that are absent.
type absentees struct{ absent, nodes int }

// add counts a Node. The evidence must be about this Node.
func (s *snapshot) add(node *corev1.Node, e evidence, l *ledger) {
	_, disowned := s.claim.Disowns(node)
	s.hasIDs = s.hasIDs || node.Spec.ProviderID != "" && !disowned
	if disowned || node.DeletionTimestamp != nil {
		return
	}
	in := cell{kinOf(node), placeOf(node)}
	g := s.groups[in]
	if g == nil {
		g = &group{}
		s.groups[in] = g
	}
	g.nodes++
	if silenceOf(node, s.at, s.limits.SilentAfter).silent {
		s.addSilent(g, node, e)
		return
	}
	g.reporting++
	s.anyStays = true
	if nodefact.IsUninitialized(node) {
		return
	}
	g.reports = append(g.reports, node)
	if l.about(node, in.kin.by).presence == absent {
		g.denied = append(g.denied, node)
	}
}

// addSilent counts a Node whose kubelet is silent. It counts towards the budget if the
// cloud calls it absent or was not asked yet: at the beginning of a large failure, most
// silent Nodes have not been asked about. The absence of announced Nodes is expected, and
// that of Nodes whose machines were terminated is explained.
func (s *snapshot) addSilent(g *group, node *corev1.Node, e evidence) {
	switch {
	case s.limits.isAnnounced(node), e.isTerminated():
	case e.presence == absent, e.checkedAt.IsZero():
		g.absent++
	default:
		s.found[node.Name] = e.checkedAt
		g.found = append(g.found, e.checkedAt)
	}
	s.anyStays = s.anyStays || !s.limits.isTainted(node)
	if e.presence != absent && !nodefact.IsUninitialized(node) {
		g.silent = append(g.silent, node)
	}
}

// whole returns the snapshot after all Nodes have been added.
func (s *snapshot) whole() *snapshot {
	for _, g := range s.groups {
		slices.SortFunc(g.found, time.Time.Compare)
	}
	return s
}

// absentees counts the Nodes that share a budget with this Node, which is absent since the
// given time. Silent Nodes that the cloud was not asked about since then count as absent,
// too: the cloud may deny them as well. So does the Node itself, even if the snapshot does
// not have the cloud's answer yet.
func (s *snapshot) absentees(node *corev1.Node, since time.Time) (a absentees) {
	for in, g := range s.groups {
		if in.kin == kinOf(node) {
			old, _ := slices.BinarySearchFunc(g.found, since, time.Time.Compare)
			a.absent, a.nodes = a.absent+g.absent+old, a.nodes+g.nodes
		}
	}
	if at, isCounted := s.found[node.Name]; isCounted && !at.Before(since) {
		a.absent++
	}
	return a
}

// standing says how a Node whose kubelet reports counts as a witness.
type standing int

const (
	countsTrusted standing = iota // the cloud has not called it absent
	countsDenied                  // the cloud calls it absent
	countsForeign                 // the cloud calls it absent again and again for so long that it must be another provider's Node
)

// peer is a Node whose kubelet reports, as the decision about another Node sees it.
type peer struct {
	node     *corev1.Node
	standing standing
	// record is the record of questions by provider ID if the Node to decide about has
	// a provider ID. Otherwise, it is the record of questions by name. It never changes.
	record *record
}

// isOlder orders Nodes by the time of the last question. UIDs are random, so they order
// Nodes with the same time independently of their names, which often follow the place.
func (p *peer) isOlder(than *peer) bool {
	if !p.record.tried.Equal(than.record.tried) {
		return p.record.tried.Before(than.record.tried)
	}
	return p.node.UID < than.node.UID
}

// candidates has the Nodes that can be witnesses for a Node. They are other instances.
// The cloud can be asked about them in the same way as about the Node: by a provider ID
// of the same scheme, or by name.
type candidates struct {
	silent int    // number of those whose kubelets do not report
	peers  []peer // the others; but in a pass only those that the cloud calls absent
	more   int    // number of those that are left out
}

// view is what the decision about one Node can see of all Nodes: the counts of a snapshot
// and, in a final check, the newest answers about each Node that reports.
type view struct {
	*snapshot
	*ledger

	node       *corev1.Node
	since, now time.Time // since is the time since which the Node is absent
	isFinal    bool
	described  bool // as in instances.Confirmed
}

// candidates returns the candidates in the places for which the function where returns
// true.
func (v view) candidates(where func(place) bool) (c candidates) {
	k := kinOf(v.node)
	for in, g := range v.groups {
		if !where(in.place) || k.by == byID && in.kin != k {
			continue
		}
		c.silent += v.others(g.silent)
		listed := g.reports
		if !v.isFinal {
			listed = g.denied
		}
		c.more += len(g.reports) - len(listed)
		c.peers = slices.Grow(c.peers, len(listed))
		for _, other := range listed {
			if p, counts := v.peer(other); counts {
				c.peers = append(c.peers, p)
			}
		}
	}
	return c
}

// others counts the Nodes of the list, apart from the Node to decide about.
func (v view) others(nodes []*corev1.Node) (n int) {
	for _, other := range nodes {
		if !v.isSame(other) {
			n++
		}
	}
	return n
}

// isSame reports whether a Node is the one to decide about, or has the same instance.
func (v view) isSame(other *corev1.Node) bool {
	id := v.node.Spec.ProviderID
	return other.Name == v.node.Name || id != "" && other.Spec.ProviderID == id
}

// peer returns another Node as the decision sees it. It returns false if the answers about
// it prove nothing. A Node with a provider ID proves nothing if the cloud does not find it
// by name, because the name of an instance can differ from that of its Node.
func (v view) peer(other *corev1.Node) (p peer, counts bool) {
	by := keyOf(v.node)
	p = peer{other, countsTrusted, v.about(other, by)}
	switch {
	case p.record.isForeign(v.limits, v.now):
		p.standing = countsForeign
	case p.record.presence == absent:
		p.standing = countsDenied
	}
	return p, !v.isSame(other) && (p.standing == countsTrusted || by == keyOf(other))
}

// zone returns the facts about the Nodes in the zone of the Node, if that is known.
func (v view) zone() zoneView {
	here := placeOf(v.node)
	g := v.groups[cell{kinOf(v.node), here}]
	if g == nil || here.zone == "" {
		return zoneView{}
	}
	z := zoneView{nodes: g.nodes, reporting: g.reporting}
	z.candidates = v.candidates(func(p place) bool { return p == here })
	if v.isFinal && slices.ContainsFunc(g.reports, func(n *corev1.Node) bool { return n.Name == v.node.Name }) {
		z.reporting-- // It is silent, even if the informer does not show this yet.
	}
	return z
}

// reference returns the Node of another scheme that the cloud was asked about least
// recently, of those whose kubelets report.
func (v view) reference() (oldest *peer) {
	for in, g := range v.groups {
		if in.kin.by == byName || in.kin == kinOf(v.node) {
			continue
		}
		for _, other := range g.reports {
			if p := (&peer{node: other, record: v.about(other, byID)}); oldest == nil || p.isOlder(oldest) {
				oldest = p
			}
		}
	}
	return oldest
}

// peers has the facts that a decision about one Node reads, gathered from all Nodes.
type peers struct {
	absentees absentees // of the same kin as the Node
	// candidates are in the same region or, if that is not known, in the same zone. If
	// there are none, elsewhere is true, and the candidates are in the other regions.
	candidates candidates
	elsewhere  bool
	// isKnown means that the provider has confirmed this very Node by its provider ID,
	// or that this manager has written the ID.
	isKnown bool
	// allLeave means that taints announce the removal of all Nodes, and that all their
	// kubelets are silent.
	allLeave bool
	// zone is set if more Nodes are absent than the budget allows.
	zone      zoneView
	hasIDs    bool            // as in the snapshot
	recanted  time.Time       // as in the ledger, for Nodes of this kin
	confirmed map[string]bool // as in the ledger
	// nameIsKnown means that the provider has answered "present" at least once to a
	// question about this Node by name.
	nameIsKnown bool
	// reference is a Node of another scheme whose kubelet reports. It is set in a final
	// check while no scheme is confirmed.
	reference *peer
	// deleted has the times of the deletions of such Nodes in the last minute, in
	// order. It leaves out Nodes whose removal was announced by a taint.
	deleted []time.Time
}

// zoneView has the facts about the Nodes in the zone of the Node to decide about. It is
// empty if the zone is not known.
type zoneView struct {
	nodes, reporting int // number of all Nodes that share its budget, and of those that report
	candidates       candidates
}

// peers returns the facts for the decision.
func (v view) peers() peers {
	p := peers{
		absentees: v.absentees(v.node, v.since), allLeave: !v.anyStays, hasIDs: v.hasIDs,
		confirmed: maps.Clone(v.confirmed), recanted: v.recanted[kinOf(v.node)], deleted: v.deletedBefore(v.node, v.now),
		isKnown: v.described || isMarked(v.node) || v.about(v.node, byID).confirmed, nameIsKnown: v.about(v.node, byName).confirmed,
		candidates: v.candidates(placeOf(v.node).isNear),
	}
	if c := p.candidates; c.silent+len(c.peers)+c.more == 0 {
		all := v.candidates(func(place) bool { return true })
		p.elsewhere = all.more > 0 || slices.ContainsFunc(all.peers, func(p peer) bool { return p.standing != countsForeign })
		if p.elsewhere {
			p.candidates = all
		}
	}
	if a := p.absentees; a.absent > v.limits.Budget.of(a.nodes) {
		p.zone = v.zone()
	}
	if v.isFinal && len(v.confirmed) == 0 {
		p.reference = v.reference()
	}
	return p
}

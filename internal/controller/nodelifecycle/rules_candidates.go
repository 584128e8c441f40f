package nodelifecycle

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// peers has the facts that a decision about one Node reads, gathered from all Nodes.
type peers struct {
	// absentees counts the Nodes of the same scheme as the Node to decide about.
	absentees  absentees
	candidates candidates
	// elsewhere means that no Node in the region can be a witness, so the candidates are
	// the Nodes of the other regions.
	elsewhere bool
	// isKnown means that the provider has confirmed this very Node by its provider ID,
	// or that this manager has written the ID.
	isKnown bool
	// allLeave means that taints announce the removal of all Nodes, and that all their
	// kubelets are silent.
	allLeave bool
	// zone is set if more Nodes are absent than the budget allows.
	zone zoneView
	// recanted is the last time at which the cloud called an instance of this kin
	// present after it had called it absent. It is zero if that was long ago.
	recanted time.Time
	// hasIDs means that at least one Node of this daemon has a provider ID.
	hasIDs bool
	// confirmed has the provider-ID schemes for which the provider has called at least
	// one instance present. Only questions by provider ID count, because an answer
	// about a name says nothing about the scheme.
	confirmed map[string]bool
	// nameIsKnown means that the provider has answered "present" at least once to a
	// question about this Node by name.
	nameIsKnown bool
	// reference is a Node of another scheme whose kubelet reports. If there are
	// several, it is the one that the cloud was asked about least recently. It is nil
	// once a scheme is confirmed.
	reference *peer
	// deleted has the times of the deletions of such Nodes in the last minute, in
	// order. It leaves out Nodes whose removal was announced by a taint.
	deleted []time.Time
}

// candidates has the facts about the Nodes that can be witnesses for a Node. These
// Nodes, the candidates, belong to other instances in the same region, or in the same
// zone if the region is not known. The cloud can be asked about them in the same way as
// about the Node: by a provider ID of the same scheme, or by name. The lists have only
// as many Nodes as the rules need.
type candidates struct {
	others    int // number of candidates, without foreign Nodes
	reporting int // number of these candidates whose kubelets report
	failing   int // number of the reporting ones for which the last question has failed
	// next is the Node to ask about first. Its kubelet reports, and the cloud has not
	// called it absent. If there are several such Nodes, it is the one that the cloud
	// was asked about least recently.
	next *peer
	// confirmed has the records of the Nodes that the cloud calls present. failed has
	// the records of the Nodes for which the last question has failed. Nodes whose
	// kubelets do not report are left out. In both lists, the newest record comes
	// first.
	confirmed, failed []record
	// denied is a Node that the cloud has called absent for less than ForeignAfter,
	// although its kubelet reports. If there are several, it is the one that the cloud
	// was asked about most recently.
	denied *peer
	// foreign has Nodes that the cloud has called absent for ForeignAfter or longer,
	// although their kubelets report. The Node that was asked about most recently comes
	// first. foreigners is the number of all Nodes of this kind.
	foreign    []peer
	foreigners int
	// called is the last time at which the cloud began to call a candidate absent. Only
	// candidates whose kubelets report count.
	called time.Time
}

// peer is a Node of the cluster as the decision about another Node sees it.
type peer struct {
	node *corev1.Node
	// record is the record of questions by provider ID if the Node to decide about has
	// a provider ID. Otherwise, it is the record of questions by name.
	record record
}

func (m *member) peer(byName bool) *peer { return &peer{m.node, *m.record(byName)} }

// absentees counts the Nodes that share a budget with this Node. If the Node itself is
// silent, and its removal is not announced, it counts as absent even if the index does
// not know this yet.
func (i *index) absentees(node *corev1.Node, own *member) absentees {
	var a absentees
	if counted := i.kins[kinOf(node)]; counted != nil {
		a = *counted
	}
	if own != nil && own.kin() == kinOf(node) && own.mayBeAbsent() && !own.isAbsent() {
		a.absent++
	}
	return a
}

func (i *index) allLeave() bool {
	for _, a := range i.kins {
		if a.leaving < a.nodes {
			return false
		}
	}
	return true
}

// zone returns the facts about the Nodes in the zone of this Node. The Node itself is
// silent, even if the index does not know this yet.
func (i *index) zone(node *corev1.Node, own *member) zoneView {
	in, known := zoneOf(node)
	counted := i.zones[in]
	if !known || counted == nil {
		return zoneView{}
	}
	z := *counted
	if own != nil && own.kin() == in.kin && own.isIn(in) && !own.leftAlone && !own.silence.silent {
		z.reporting--
	}
	z.candidates = i.candidates(in, node, own)
	return z
}

// candidates returns the facts about the Nodes in a circle that can be witnesses for
// this Node.
func (i *index) candidates(in circle, node *corev1.Node, own *member) candidates {
	t := i.circles[in]
	if t == nil {
		return candidates{}
	}
	c := candidates{others: t.others, reporting: t.reporting, failing: t.failed.tree.Len(), foreigners: t.foreign.tree.Len()}
	if own != nil {
		c.without(own, in)
	}
	for _, m := range i.holders[node.Spec.ProviderID] {
		if m != own {
			c.without(m, in)
		}
	}
	isOther := func(m *member) bool { return m != own && (in.byName || m.id != node.Spec.ProviderID) }
	first := func(all iter.Seq[*member], most int) []peer { return firstOf(all, most, in.byName, isOther) }
	c.next = only(first(t.trusted.up, 1))
	c.denied = only(first(t.denied.down, 1))
	c.foreign = first(t.foreign.down, maxNamed)
	if last := only(first(t.called.down, 1)); last != nil {
		c.called = last.record.since
	}
	// More records would not change the decision. A decision needs at most as many
	// confirmed Nodes as the limit Witnesses says. Failed questions about these Nodes
	// do not count, so twice as many failed questions are read.
	c.confirmed = records(first(t.confirmed.down, i.limits.Witnesses))
	c.failed = records(first(t.failed.down, 2*i.limits.Witnesses))
	return c
}

// firstOf returns the first members for which isOther returns true, as values of the
// type peer. Their maximum number is the second parameter.
func firstOf(all iter.Seq[*member], most int, byName bool, isOther func(*member) bool) (found []peer) {
	for m := range all {
		if len(found) == most {
			break
		}
		if isOther(m) {
			found = append(found, *m.peer(byName))
		}
	}
	return found
}

// without subtracts a member from the counts. It does nothing if the member is not in
// the circle.
func (c *candidates) without(m *member, in circle) {
	if !m.isIn(in) {
		return
	}
	switch m.standing(in.byName) {
	case countsNothing:
	case countsSilent:
		c.others--
	case countsTrusted, countsDenied:
		c.others--
		c.reporting--
		if m.standing(in.byName) == countsTrusted && m.record(in.byName).failed {
			c.failing--
		}
	case countsForeign:
		c.foreigners--
	}
}

// reference returns the value of the field peers.reference for the Nodes of this kin.
func (i *index) reference(own kin) *peer {
	var oldest *member
	for k := range i.kins {
		t := i.circles[circle{kin: k}]
		if t == nil || k == own || k.byName {
			continue
		}
		for _, of := range []ordered{t.trusted, t.denied, t.foreign} {
			if m := of.first(); m != nil && (oldest == nil || m.byID.tried.Before(oldest.byID.tried)) {
				oldest = m
			}
		}
	}
	if oldest == nil {
		return nil
	}
	return oldest.peer(false)
}

func only(found []peer) *peer {
	if len(found) == 0 {
		return nil
	}
	return &found[0]
}

func records(of []peer) (all []record) {
	for _, p := range of {
		all = append(all, p.record)
	}
	return all
}

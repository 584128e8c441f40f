package nodelifecycle

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// peers is what is known of all Nodes together, as far as the decision about one
// of them reads it.
type peers struct {
	// absentees counts the Nodes of the same scheme as the Node to decide about.
	absentees  absentees
	candidates candidates
	// hasIDs means that a Node of this daemon has a provider ID.
	hasIDs bool
	// confirmed has the provider-ID schemes of Nodes whose instances the provider
	// has ever called present. Only questions by provider ID count, because an
	// answer about a name says nothing about the scheme.
	confirmed map[string]bool
	// nameIsKnown means that the provider has ever called this Node present when it
	// was asked by name.
	nameIsKnown bool
	// reference is a Node of another scheme whose kubelet reports. Of these Nodes, it is
	// the one about which the cloud was asked longest ago. It is nil once a scheme is
	// confirmed.
	reference *peer
	// deleted has the times of the deletions in the last minute, in order, without
	// those of Nodes that a taint announces.
	deleted []time.Time
}

// candidates is what is known of the Nodes that may be witnesses for a Node. They
// belong to other instances, in the same region, or in the same zone if the region is
// not known. The cloud can be asked about them in the same way as about the Node: by
// provider ID with the same scheme, or by name. Lists have no more elements than the
// rules need.
type candidates struct {
	others    int // Nodes that could be asked about
	reporting int // how many of others have a kubelet that reports
	// next is the Node to ask about first. Its kubelet reports, and the cloud has not
	// called it absent. Of these Nodes, it is the one about which the cloud was asked
	// longest ago.
	next *peer
	// confirmed are the records of Nodes whose kubelets report and that the cloud calls
	// present. failed are the records of Nodes whose kubelets report and for which the
	// last question has failed. The newest records come first.
	confirmed, failed []record
	// denied is a Node that the cloud has called absent for less than ForeignAfter,
	// although its kubelet reports. Of these Nodes, it is the one that the cloud was last
	// asked about. foreign are Nodes for which this has lasted longer, the newest
	// question first, and foreigners is how many there are in all. called is when the
	// cloud last began to call a Node absent whose kubelet reports.
	denied     *peer
	foreign    []peer
	foreigners int
	called     time.Time
}

// peer is a Node of the cluster as the decision about another Node sees it.
type peer struct {
	node *corev1.Node
	// record is from questions by provider ID if the Node to decide about has
	// one, otherwise from questions by name.
	record record
}

func (m *member) peer(byName bool) *peer { return &peer{m.node, *m.record(byName)} }

// absentees counts the Nodes of this Node's kin. The Node itself counts as absent
// unless it is announced or reports, even if the index does not have its absence yet.
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

// candidates returns what is known of the Nodes that may be witnesses for this one.
func (i *index) candidates(node *corev1.Node, own *member) candidates {
	in := circleOf(node)
	t := i.circles[in]
	if t == nil {
		return candidates{}
	}
	c := candidates{others: t.others, reporting: t.reporting, foreigners: t.foreign.tree.Len()}
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
	// More records would not change the decision. It needs at most Witnesses confirmed
	// Nodes. As many of the failed questions may be about these Nodes, and then do not
	// count, so twice as many failed questions are read.
	c.confirmed = records(first(t.confirmed.down, i.limits.Witnesses))
	c.failed = records(first(t.failed.down, 2*i.limits.Witnesses))
	return c
}

// firstOf returns the first peers that belong to other instances than the Node.
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

// without takes a member out of the counts if it is in the circle.
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
	case countsForeign:
		c.foreigners--
	}
}

// reference returns the Node of another scheme to ask about first.
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

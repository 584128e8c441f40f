package nodelifecycle

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// kin names the Nodes that share a budget: the Nodes of one provider-ID scheme, or the
// Nodes without provider IDs.
type kin struct {
	byName bool
	scheme string
}

func kinOf(node *corev1.Node) kin { return kin{node.Spec.ProviderID == "", nodefact.Scheme(node)} }

func (f *facts) kin() kin { return kin{f.id == "", f.scheme} }

// circle names a set of Nodes that can be witnesses for each other. The cloud is asked
// about them in the same way, and they are in the same region or zone. The fields label
// and value have the key and the value of the Node label for this region or zone. If
// label is empty, the Nodes can be anywhere.
type circle struct {
	kin

	label, value string
}

// zoneLabel stands for the labels of the region and of the zone together.
const zoneLabel = "region and zone"

// circleOf returns the circle of the witnesses for a Node. The circle has the Nodes of
// the same region, or of the same zone if the region is not known. If neither is known,
// it has all Nodes. If the cloud is asked about the Node by name, Nodes of any scheme
// can be witnesses.
func circleOf(node *corev1.Node) circle {
	c := circle{kin: kinOf(node)}
	for _, label := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if value := node.Labels[label]; value != "" {
			c.label, c.value = label, value
			return c
		}
	}
	return c
}

// circles returns the circles of the kin k in which this Node can be a witness.
func (f *facts) circles(k kin) iter.Seq[circle] {
	return func(yield func(circle) bool) {
		_ = yield(circle{kin: k}) &&
			(f.region == "" || yield(circle{k, corev1.LabelTopologyRegion, f.region})) &&
			(f.zone == "" || yield(circle{k, corev1.LabelTopologyZone, f.zone}) && yield(circle{k, zoneLabel, f.region + "/" + f.zone}))
	}
}

// isIn reports whether the Node is in a circle.
func (f *facts) isIn(c circle) bool {
	if !c.byName && f.kin() != c.kin {
		return false
	}
	switch c.label {
	case corev1.LabelTopologyRegion:
		return f.region == c.value
	case corev1.LabelTopologyZone:
		return f.zone == c.value
	case zoneLabel:
		return f.zone != "" && f.region+"/"+f.zone == c.value
	default:
		return true
	}
}

// tally has the counts for one circle.
type tally struct {
	byName            bool
	others, reporting int
	// trusted has all Nodes with the standing countsTrusted. Of these, the set
	// confirmed has those that the cloud calls present, and the set failed has those
	// for which the last question has failed. The set confirmed is ordered by the time
	// of the last answered question, and the two others by the time of the last
	// question.
	trusted, confirmed, failed ordered
	// denied has the Nodes with the standing countsDenied, and foreign has those with
	// the standing countsForeign. Both are ordered by the time of the last question.
	// The set called has all of these Nodes, ordered by the time at which the cloud
	// began to call them absent.
	denied, foreign, called ordered
}

func newTally(byName bool) *tally {
	tried := func(m *member) time.Time { return m.record(byName).tried }
	asked := func(m *member) time.Time { return m.record(byName).asked }
	since := func(m *member) time.Time { return m.record(byName).since }
	return &tally{
		byName:  byName,
		trusted: orderedBy(tried), confirmed: orderedBy(asked), failed: orderedBy(tried),
		denied: orderedBy(tried), foreign: orderedBy(tried), called: orderedBy(since),
	}
}

// each adds n to the counts that include the member, and calls f for each ordered set
// to which the member belongs.
func (t *tally) each(m *member, n int, f func(ordered, *member)) {
	answers := m.record(t.byName)
	switch m.standing(t.byName) {
	case countsNothing:
	case countsSilent:
		t.others += n
	case countsTrusted:
		t.others, t.reporting = t.others+n, t.reporting+n
		f(t.trusted, m)
		if answers.presence == present {
			f(t.confirmed, m)
		}
		if answers.failed {
			f(t.failed, m)
		}
	case countsDenied:
		t.others, t.reporting = t.others+n, t.reporting+n
		f(t.denied, m)
		f(t.called, m)
	case countsForeign:
		f(t.foreign, m)
		f(t.called, m)
	}
}

// ordered is a set of members, sorted by one of their times. Members with the same time
// are sorted by rank and name.
type ordered struct{ tree *btree.BTree[*member] }

func orderedBy(at func(*member) time.Time) ordered {
	const degree = 16
	return ordered{btree.NewWithFreeList(degree, func(a, b *member) bool {
		if at, than := at(a), at(b); !at.Equal(than) {
			return at.Before(than)
		}
		if a.rank != b.rank {
			return a.rank < b.rank
		}
		return a.node.Name < b.node.Name
	}, btree.NewFreeList[*member](0))}
}

func (o ordered) add(m *member)    { o.tree.ReplaceOrInsert(m) }
func (o ordered) remove(m *member) { o.tree.Delete(m) }

// first returns the first member, or nil if there is none.
func (o ordered) first() *member {
	m, _ := o.tree.Min()
	return m
}

// up goes through the members in order, and down goes through them in reverse order.
func (o ordered) up(yield func(*member) bool)   { o.tree.Ascend(yield) }
func (o ordered) down(yield func(*member) bool) { o.tree.Descend(yield) }

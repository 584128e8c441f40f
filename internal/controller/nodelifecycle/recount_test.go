package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// recount is a second implementation of the counts of the index, for the decision about
// one Node. It goes through all Nodes of the cluster.
type recount struct {
	observed

	nodes []other
}

func (o recount) absentees() absentees {
	var a absentees
	for _, p := range o.nodes {
		if !o.isOfSameScheme(p) || o.leavesAlone(p.node) {
			continue
		}
		a.nodes++
		if nodefact.IsAnnounced(p.node) && !o.isReporting(p) {
			a.leaving++
		}
		if nodefact.IsAnnounced(p.node) || o.limits.AnnouncedByConditions && nodefact.IsAnnouncedByCondition(p.node) || o.isReporting(p) {
			continue
		}
		if p.presence == absent || !p.checked || p.node.Name == o.node.Name {
			a.absent++
		}
	}
	return a
}

// zone counts the Nodes in the zone of the Node, and those of them that report.
func (o recount) zone() (nodes, reporting int) {
	region, name := o.node.Labels[corev1.LabelTopologyRegion], o.node.Labels[corev1.LabelTopologyZone]
	for _, p := range o.nodes {
		if name == "" || !o.isOfSameScheme(p) || o.leavesAlone(p.node) || p.node.Labels[corev1.LabelTopologyRegion] != region || p.node.Labels[corev1.LabelTopologyZone] != name {
			continue
		}
		nodes++
		if o.isReporting(p) && p.node.Name != o.node.Name {
			reporting++
		}
	}
	return nodes, reporting
}

// counted has the facts about witnesses that the decision reads.
type counted struct {
	others, reporting, seen, failed, failing, foreigners int
	newest                                               time.Time
	contradicting, next                                  string
	tooManyForeign                                       bool
}

func (o recount) witnesses() counted {
	var c counted
	var contradicting, next, lastForeign *other
	from := o.countedFrom()
	latest := func(p, than *other) *other {
		if than == nil || p.record.tried.After(than.record.tried) || p.record.tried.Equal(than.record.tried) && rank(p.node) > rank(than.node) {
			return p
		}
		return than
	}
	for i := range o.nodes {
		p := &o.nodes[i]
		switch {
		case !o.isComparable(p):
			continue
		case o.provesNothing(p):
			if o.isReporting(*p) && !o.mayHaveAnotherName(p) {
				c.foreigners++
				lastForeign = latest(p, lastForeign)
			}
			continue
		}
		c.others++
		if !o.isReporting(*p) {
			continue
		}
		c.reporting++
		confirmed := p.record.presence == present && p.record.asked.After(from)
		if p.record.presence == absent {
			contradicting = latest(p, contradicting)
			continue
		}
		if p.record.failed && p.record.tried.After(from) && !confirmed {
			c.failed++
		}
		if p.record.failed && !confirmed {
			c.failing++
		}
		if confirmed {
			c.seen++
		}
		if p.record.presence == present && p.record.asked.After(c.newest) {
			c.newest = p.record.asked
		}
		if p.record.tried.Before(o.memory.evidence.answered) && (next == nil || p.record.tried.Before(next.record.tried) ||
			p.record.tried.Equal(next.record.tried) && rank(p.node) < rank(next.node)) {
			next = p
		}
	}
	if contradicting == nil && c.foreigners > max(1, c.reporting*o.limits.Budget.Percent/100) {
		contradicting, c.tooManyForeign = lastForeign, true
	}
	if contradicting != nil {
		c.contradicting = contradicting.node.Name
	}
	if next != nil {
		c.next = next.node.Name
	}
	return c
}

// areEnough is a second implementation of witnesses.areEnough.
func (c counted) areEnough(o observed) bool {
	needed := c.reporting
	if c.seen > c.failed {
		needed -= c.failed
	} else if o.now.Sub(o.memory.evidence.since) >= failuresHoldFor {
		needed -= c.failing
	}
	return c.seen >= min(o.limits.Witnesses, needed) && !c.newest.IsZero() && !c.newest.Before(o.memory.evidence.answered)
}

func (o recount) countedFrom() time.Time {
	from := o.memory.evidence.since
	for i := range o.nodes {
		p := &o.nodes[i]
		if p.record.presence == absent && p.record.since.After(from) && o.isComparable(p) && o.isReporting(*p) && !o.mayHaveAnotherName(p) {
			from = p.record.since
		}
	}
	return from
}

func (o recount) isComparable(p *other) bool {
	if o.leavesAlone(p.node) || p.node.Name == o.node.Name || nodefact.IsUninitialized(p.node) {
		return false
	}
	if id := o.node.Spec.ProviderID; id != "" && (p.node.Spec.ProviderID == id || !o.isOfSameScheme(*p)) {
		return false
	}
	for _, place := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if own := o.node.Labels[place]; own != "" {
			return p.node.Labels[place] == own
		}
	}
	return true
}

func (o recount) provesNothing(p *other) bool {
	if !o.isReporting(*p) {
		return p.presence == absent
	}
	if o.mayHaveAnotherName(p) {
		return p.record.presence == absent
	}
	return p.record.presence == absent && o.now.Sub(p.record.since) >= o.limits.ForeignAfter
}

func (o recount) hasIDs() bool {
	for _, p := range o.nodes {
		if _, disowned := o.claim.Disowns(p.node); p.node.Spec.ProviderID != "" && !disowned {
			return true
		}
	}
	return false
}

// reference returns the time of the last question about the reference Node. It also
// reports whether there is a reference Node.
func (o recount) reference() (tried time.Time, is bool) {
	for i := range o.nodes {
		p := &o.nodes[i]
		if o.leavesAlone(p.node) || nodefact.IsUninitialized(p.node) || !o.isReporting(*p) || p.node.Spec.ProviderID == "" || o.isOfSameScheme(*p) {
			continue
		}
		if !is || p.record.tried.Before(tried) {
			tried, is = p.record.tried, true
		}
	}
	return tried, is
}

func (o recount) mayHaveAnotherName(p *other) bool {
	return o.isAskedByName() && p.node.Spec.ProviderID != ""
}

func (o recount) isReporting(p other) bool {
	return !silenceOf(p.node, o.now, o.limits.SilentAfter).silent
}

func (o recount) leavesAlone(node *corev1.Node) bool {
	_, alone := o.claim.LeavesAlone(node)
	return alone
}

func (o recount) isOfSameScheme(p other) bool {
	return (p.node.Spec.ProviderID == "") == o.isAskedByName() && nodefact.Scheme(p.node) == nodefact.Scheme(o.node)
}

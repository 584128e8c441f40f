package nodelifecycle

import (
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Share is a part of the Nodes: so many, or so many percent of them where that
// is more.
type Share struct{ Nodes, Percent int }

func (s Share) of(nodes int) int { return max(s.Nodes, nodes*s.Percent/100) }

func (s Share) String() string { return fmt.Sprintf("max(%d, %d %%)", s.Nodes, s.Percent) }

// crowd is how many of the Nodes of one provider-ID scheme are absent together.
type absentees struct{ absent, nodes int }

// crowd counts the Nodes like the candidate. Announced ones are expected to be
// absent. A silent one that the cloud has not been asked about yet may be
// absent as well: the first answers of a large failure must not be taken for
// all.
func (c candidate) absentees() absentees {
	var k absentees
	for _, m := range c.roster.members {
		if nodefact.Scheme(m.node) != nodefact.Scheme(c.node) {
			continue
		}
		if _, excluded := nodefact.IsExcluded(m.node); excluded {
			continue
		}
		k.nodes++
		if nodefact.IsAnnounced(m.node) || !silenceOf(m.node, c.now, c.limits.SilentAfter).silent {
			continue
		}
		if m.said == absent || !m.looked || m.node.Name == c.node.Name {
			k.absent++
		}
	}
	return k
}

// crowded is the fourth part of S1: many machines that are gone at the same
// time are rather one answer that is wrong.
func crowded(c candidate) *obstacle {
	k := c.absentees()
	if nodefact.IsAnnounced(c.node) || k.absent <= c.limits.Budget.of(k.nodes) {
		return nil
	}
	if until := c.memory.evidence.since.Add(c.limits.OverBudgetAfter); c.now.Before(until) {
		return &obstacle{cause: overBudget(k, c.limits), until: until}
	}
	deleted := 0
	for _, at := range c.roster.deleted {
		if c.now.Sub(at) < time.Minute {
			deleted++
		}
	}
	if pace := c.limits.OverBudgetRate.of(k.nodes); deleted >= pace {
		return &obstacle{cause: rateLimited(k, pace), until: c.roster.deleted[len(c.roster.deleted)-pace].Add(time.Minute)}
	}
	return nil
}

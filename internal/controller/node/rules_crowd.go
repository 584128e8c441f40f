package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Share is a part of the Nodes: so many, or so many percent of them where that
// is more.
type Share struct{ Nodes, Percent int }

func (s Share) of(nodes int) int { return max(s.Nodes, nodes*s.Percent/100) }

func (s Share) String() string { return fmt.Sprintf("max(%d, %d %%)", s.Nodes, s.Percent) }

// announcements are the taints by which others announce that they remove a
// Node.
var announcements = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}

func isAnnounced(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(announcements, t.Key) })
}

// crowd is how many of the Nodes of one provider-ID scheme are absent together.
type crowd struct{ absent, nodes int }

// crowd counts the Nodes like the candidate. Announced ones are expected to be
// absent. A silent one that the cloud has not been asked about yet may be
// absent as well: the first answers of a large failure must not be taken for
// all.
func (c candidate) crowd() crowd {
	var k crowd
	for _, m := range c.roster.members {
		if scheme(m.node) != scheme(c.node) {
			continue
		}
		if _, excluded := isExcluded(m.node); excluded {
			continue
		}
		k.nodes++
		if isAnnounced(m.node) || !silenceOf(m.node, c.now, c.limits.SilentAfter).silent {
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
	k := c.crowd()
	if isAnnounced(c.node) || k.absent <= c.limits.Crowd.of(k.nodes) {
		return nil
	}
	if until := c.memory.evidence.since.Add(c.limits.CrowdAbsentFor); c.now.Before(until) {
		return &obstacle{refusal: tooManyAbsent(k, c.limits), until: until}
	}
	deleted := 0
	for _, at := range c.roster.deleted {
		if c.now.Sub(at) < time.Minute {
			deleted++
		}
	}
	if pace := c.limits.CrowdPace.of(k.nodes); deleted >= pace {
		return &obstacle{refusal: deletionPaced(k, pace), until: c.roster.deleted[len(c.roster.deleted)-pace].Add(time.Minute)}
	}
	return nil
}

// scheme is the part of the provider ID that names the provider, empty where
// the Node has no provider ID.
func scheme(node *corev1.Node) string {
	before, _, found := strings.Cut(node.Spec.ProviderID, "://")
	if !found {
		return ""
	}
	return before
}

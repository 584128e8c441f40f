package route

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func newMemory() memory {
	return memory{
		made: map[claim]time.Time{}, gone: map[identity]time.Time{}, suspects: map[identity]time.Time{}, departed: map[string]departure{},
		failures: map[netip.Prefix]failure{}, busy: map[netip.Prefix]time.Time{}, shown: map[types.UID]shown{},
	}
}

func (m *memory) clone() memory {
	c := *m
	c.made, c.gone, c.suspects, c.departed = maps.Clone(m.made), maps.Clone(m.gone), maps.Clone(m.suspects), maps.Clone(m.departed)
	c.failures, c.busy, c.shown = maps.Clone(m.failures), maps.Clone(m.busy), maps.Clone(m.shown)
	return c
}

// listed forgets what a listing makes needless.
func (m *memory) listed(l listing) {
	m.blind = failure{}
	maps.DeleteFunc(m.made, func(_ claim, at time.Time) bool { return !l.at.Before(at.Add(settled)) })
	maps.DeleteFunc(m.gone, func(_ identity, at time.Time) bool { return !l.at.Before(at.Add(settled)) })
	maps.DeleteFunc(m.departed, func(name string, d departure) bool {
		return l.at.Sub(d.at) > rememberDeparture &&
			!slices.ContainsFunc(l.routes, func(r route) bool { return r.target == name })
	})
}

// left takes note of a Node that is no more.
func (m *memory) left(node *corev1.Node, now time.Time) {
	d := departure{at: now, cidrs: append(m.departed[node.Name].cidrs, cidrsOf(node)...)}
	m.departed[node.Name] = d
	delete(m.shown, node.UID)
}

// done is the memory after a job. What has been done before it failed counts.
func (m *memory) done(next job, removed []removal, failed *failure, now time.Time) {
	delete(m.busy, next.cidr)
	for _, r := range removed {
		m.gone[r.route.identity] = now
		if !r.orphan { // It may be what this process had created.
			maps.DeleteFunc(m.made, func(c claim, _ time.Time) bool { return c.cidr == next.cidr })
		}
	}
	if failed != nil {
		m.failures[next.cidr] = m.failures[next.cidr].next(now, *failed)
		return
	}
	if next.create != nil {
		m.made[claim{next.cidr, next.create.node.UID}] = now
	}
}

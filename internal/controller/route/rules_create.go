package route

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// jobFor is what to do for a CIDR, nil for nothing. Removals that are held are
// reported to the plan.
func (s *survey) jobFor(cidr netip.Prefix, e *entry, p *plan) *job {
	next := job{cidr: cidr}
	remove := func(j judged) {
		orphan := !slices.ContainsFunc(e.claimants, func(n *corev1.Node) bool { return n.Name == j.route.target })
		next.remove = append(next.remove, removal{j.route, j.why, orphan})
	}
	for _, j := range e.routes {
		switch j.fate {
		case stays, serves:
		case goes:
			remove(j)
		case stray:
			ok, why, until := s.mayGo(j.route)
			if ok {
				remove(j)
				continue
			}
			h := held{j.route, j.why + ": " + why}
			p.held = append(p.held, h)
			if s.isRipe(j.route) {
				p.crowd = append(p.crowd, h)
			}
			p.sooner(until.Sub(s.now))
		}
	}
	if e.owner != nil && !isExcluded(e.owner) && !e.isSatisfied() {
		next.create = &creation{node: e.owner, hint: hintFor(e.owner, cidr), why: missing(e), doubtful: e.blackhole}
	}
	if len(next.remove) == 0 && next.create == nil {
		return nil
	}
	return &next
}

func missing(e *entry) string {
	if e.blackhole {
		return "the route of its CIDR leads nowhere"
	}
	return "there is no route for its CIDR"
}

// hintFor is what the provider may name the route by: the Node's UID, as
// upstream has it, and for another CIDR of the Node one of its own.
func hintFor(node *corev1.Node, cidr netip.Prefix) string {
	hint := string(node.UID)
	switch first := cidrsOf(node)[0]; {
	case cidr == first:
		return hint
	case cidr.Addr().Is4():
		return hint + "-ipv4"
	default:
		return hint + "-ipv6"
	}
}

package route

import (
	"net/netip"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Recall returns this process's memory of the routes to a CIDR, and false if the
// process knows nothing of the CIDR. Recall does no I/O and changes nothing.
func (c *Controller) Recall(cidr string) (step.Memory, bool) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return step.Memory{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.recall(prefix)
}

// recall returns the memory of the routes to a CIDR.
func (m *memory) recall(cidr netip.Prefix) (r step.Memory, known bool) {
	if !m.listing.answered.IsZero() {
		targets := m.targets(cidr)
		known = len(targets) > 0
		r.Said, r.SaidAt, r.NextLook = "no route", m.listing.answered, m.nextListing
		if known {
			r.Said = "a route to " + strings.Join(targets, ", ")
		}
	}
	for id, since := range m.strays {
		if id.destination == cidr.String() {
			known, r.Reason, r.Since, r.Text = true, "Stray", since, "The route to "+id.target+" is not needed, as far as the daemon knows."
		}
	}
	f, failed := m.failures[cidr]
	if !failed && m.listingFails() {
		f = m.listingFailure
	}
	if f.count > 0 {
		r.Reason, r.Text, r.Since, r.Attempts, r.NextLook = f.kind, f.text, f.since, f.count, f.until
	}
	if pending, ok := m.pending[cidr]; ok {
		known, r.Do, r.Since = true, string(changeRoutes), pending.since
	}
	return r, known || failed
}

// mostTargets is the maximum number of targets that are named for one CIDR. A CIDR
// should have only one.
const mostTargets = 10

// targets returns the Nodes to which the listed routes of a CIDR lead.
func (m *memory) targets(cidr netip.Prefix) []string {
	var all []string
	for _, r := range m.listing.routes {
		if r.cidr == cidr && len(all) < mostTargets {
			all = append(all, r.target)
		}
	}
	return all
}

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Self describes the daemon that looks for other managers.
type Self struct {
	Program string   // the API server records writes under this name
	Lease   string   // namespace and name; empty without an election
	Line    []string // the daemon's arguments
}

// Other is evidence that another manager works, or has worked in the last hour.
type Other struct {
	// Works reports whether the other manager works now. If Works is false, the
	// manager might have ended.
	Works bool
	// Message describes the evidence and what to do. It is empty if there is no
	// evidence.
	Message string
}

// divide says how two managers can work in one cluster.
const divide = "docs/guides/two-managers.md says how to divide the objects between two managers."

// Beside returns the evidence that another manager works in the same cluster. It
// returns none if the flags of this daemon limit it to some of the objects.
func (v *View) Beside(self Self) Other {
	me := self.manager()
	known := v.withSelf(me)
	undivided := !slices.ContainsFunc(known, Manager.divides)
	found, late := v.together(known), v.lateWriterOtherThan(self.Program)
	switch {
	case me.divides():
		return Other{}
	case len(found) > 0:
		seen := found[0].Message
		if evidence := found[0].Evidence; len(evidence) > 0 {
			seen += " " + strings.Join(evidence, "; ") + "."
		}
		return Other{Works: true, Message: shown(seen + " Each overwrites what the other has written, and each deletes Nodes by its own rules. End one of them; " + divide)}
	case undivided && late != "":
		return Other{Message: shown(late + ". That is another manager than this one. If it still runs, end it; " + divide)}
	default:
		return Other{}
	}
}

func (s Self) manager() Manager {
	return Manager{Flags: flagsOf(s.Line), Elects: s.Lease != "", Lease: s.Lease, isSelf: true}
}

// withSelf returns the managers that should be at work, including this daemon. It
// leaves out a workload whose Lease is not renewed, unless that is this daemon's Lease.
// Such a workload is not at work, or it is this daemon's own workload. In the second
// case, the daemon's program uses a Lease that no flag names.
func (v *View) withSelf(me Manager) []Manager {
	all := slices.DeleteFunc(v.Managers(), func(m Manager) bool {
		if m.Lease == me.Lease {
			return m.Workload == nil
		}
		l := v.lease(m.Lease)
		return m.Elects && !m.divides() && (l == nil || !v.isRenewed(l))
	})
	if slices.ContainsFunc(all, func(m Manager) bool { return m.Workload != nil && m.Lease == me.Lease }) {
		return all
	}
	return append(all, me)
}

// lateWriterOtherThan returns a text about another manager that has written Nodes
// in the last hour. The text is empty if there is none.
func (v *View) lateWriterOtherThan(program string) string {
	late := v.writersOfLate()
	for _, name := range slices.Sorted(maps.Keys(late)) {
		if name != program {
			return fmt.Sprintf("%s, most recently %s ago", late[name].wrote(name), v.since(late[name].last))
		}
	}
	return ""
}

// mayList reports whether the rules allow listing all objects of a resource.
func mayList(rules []authorizationv1.ResourceRule, group, resource string) bool {
	has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		return has(r.Verbs, "list") && has(r.APIGroups, group) && has(r.Resources, resource) && len(r.ResourceNames) == 0
	})
}

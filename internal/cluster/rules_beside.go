package cluster

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// BesideAfter is the time for which a daemon that has become the leader waits before
// it looks for other managers. By then, the Lease of a manager that the daemon has
// replaced is stale.
const BesideAfter = staleAfter + 15*time.Second

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
	// Text describes the evidence and what to do. It is empty if there is no
	// evidence.
	Text string
}

// divide says how two managers can work in one cluster.
const divide = "docs/guides/two-managers.md says how to divide the objects between two managers."

// Beside returns the evidence that another manager works in the same cluster. It
// returns none if the flags of this daemon limit it to some of the objects.
func (v *View) Beside(self Self) Other {
	me := Manager{Flags: FlagsOf(self.Line), Elects: self.Lease != "", Lease: self.Lease, isSelf: true}
	known := v.withSelf(me)
	undivided := !slices.ContainsFunc(known, Manager.divides)
	_, seen, evidence := v.AtOnce(known)
	late := v.lateWriterOtherThan(self.Program)
	switch {
	case me.divides():
		return Other{}
	case seen != "":
		if len(evidence) > 0 {
			seen += " " + strings.Join(evidence, "; ") + "."
		}
		return Other{Works: true, Text: Shown(seen + " Each overwrites what the other has written, and each deletes Nodes by its own rules. End one of them; " + divide)}
	case undivided && late != "":
		return Other{Text: Shown(late + ". That is another manager than this one. If it still runs, end it; " + divide)}
	default:
		return Other{}
	}
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
		l := v.Lease(m.Lease)
		return m.Elects && !m.divides() && (l == nil || !v.IsRenewed(l))
	})
	if slices.ContainsFunc(all, func(m Manager) bool { return m.Workload != nil && m.Lease == me.Lease }) {
		return all
	}
	return append(all, me)
}

// AtOnce returns a message if several of these managers do the same work, or if two
// field managers have written Nodes in turn. Managers with the same Lease count once,
// because they are replicas. The object is that of the manager that is probably the one
// to stop; it is empty if the managers are known only by their writes.
func (v *View) AtOnce(known []Manager) (object, message string, evidence []string) {
	undivided := slices.DeleteFunc(slices.Clone(known), Manager.divides)
	var keys, names []string
	var odd Manager
	for _, m := range undivided {
		key := m.Lease
		if key == "" {
			key = m.Object()
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
			names = append(names, m.String())
			if len(keys) == 1 || m.Lease != defaultLease {
				odd = m
			}
		}
	}
	late := v.writersOfLate()
	for _, name := range slices.Sorted(maps.Keys(late)) {
		evidence = append(evidence, late[name].wrote(name))
	}
	writers := interleaved(late)
	switch {
	case len(keys) > 1:
		return odd.Object(), fmt.Sprintf("%d managers work at once: %s.", len(keys), strings.Join(names, "; ")), evidence
	case len(writers) > 1 && len(undivided) == len(known):
		return "", fmt.Sprintf("Nodes were written by %s in turn in the last hour.", strings.Join(writers, " and ")), evidence
	default:
		return "", "", nil
	}
}

// Recent is the maximum age of a write or an event that counts.
const Recent = time.Hour

// span has the Nodes that a field manager has written, and the times of the first
// and the last write.
type span struct {
	first, last time.Time
	nodes       map[string]bool
}

// programName matches the names of programs. A kubelet can write any text into its
// Node as the name of a field manager.
var programName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)

// writersOfLate returns the cloud-controller-managers that have written Nodes in the
// last hour, each with its span. The key is the name of the field manager.
func (v *View) writersOfLate() map[string]*span {
	all := map[string]*span{}
	for i := range v.Nodes {
		for _, m := range v.Nodes[i].ManagedFields {
			if m.Time == nil || v.Now.Sub(m.Time.Time) > Recent || !NamesManager(m.Manager) || !programName.MatchString(m.Manager) {
				continue
			}
			if all[m.Manager] == nil {
				all[m.Manager] = &span{m.Time.Time, m.Time.Time, map[string]bool{}}
			}
			all[m.Manager].add(v.Nodes[i].Name, m.Time.Time)
		}
	}
	return all
}

func (s *span) add(node string, at time.Time) {
	s.nodes[node] = true
	if at.Before(s.first) {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
}

// wrote returns a text that says how many Nodes the field manager with this name
// has written.
func (s *span) wrote(name string) string {
	if len(s.nodes) == 1 {
		return name + " wrote 1 Node in the last hour"
	}
	return fmt.Sprintf("%s wrote %d Nodes in the last hour", name, len(s.nodes))
}

// interleaved returns the names of two field managers that have written Nodes in turn.
// It returns nil if there are none. If one manager has replaced another, they have not
// written in turn: the new one began to write after the last write of the old one.
func interleaved(late map[string]*span) []string {
	names := slices.Sorted(maps.Keys(late))
	for i, a := range names {
		for _, b := range names[i+1:] {
			if late[a].first.Before(late[b].last) && late[b].first.Before(late[a].last) {
				return []string{a, b}
			}
		}
	}
	return nil
}

// lateWriterOtherThan returns a text about another manager that has written Nodes
// in the last hour. The text is empty if there is none.
func (v *View) lateWriterOtherThan(program string) string {
	late := v.writersOfLate()
	for _, name := range slices.Sorted(maps.Keys(late)) {
		if name != program {
			return fmt.Sprintf("%s, most recently %s ago", late[name].wrote(name), v.Since(late[name].last))
		}
	}
	return ""
}

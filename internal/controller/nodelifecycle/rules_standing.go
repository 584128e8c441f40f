package nodelifecycle

import (
	"slices"
	"time"
)

// standing says how a Node counts as a witness.
type standing int

const (
	countsNothing standing = iota // the answers about it prove nothing
	countsSilent                  // its kubelet does not report
	countsTrusted                 // its kubelet reports, and the cloud has not called it absent
	countsDenied                  // its kubelet reports, and the cloud calls it absent
	countsForeign                 // its kubelet reports, and the cloud has called it absent for so long that it must be another provider's Node
)

// standingOf returns the standing of a Node for questions by name if byName is true,
// and for questions by provider ID otherwise. A silent Node proves nothing if it is
// absent itself. A Node with a provider ID proves nothing if the cloud does not find it
// by name, because the name of an instance can differ from that of its Node.
func (i *index) standingOf(m *member, byName bool, now time.Time) standing {
	switch answers := m.record(byName); {
	case m.leftAlone || m.uninitialized || !byName && m.id == "":
		return countsNothing
	case m.silence.silent && m.presence == absent:
		return countsNothing
	case m.silence.silent:
		return countsSilent
	case answers.presence != absent:
		return countsTrusted
	case byName && m.id != "":
		return countsNothing
	case now.Sub(answers.since) >= i.limits.ForeignAfter:
		return countsForeign
	default:
		return countsDenied
	}
}

// record returns the record of questions by name if byName is true, and the record of
// questions by provider ID otherwise.
func (m *member) record(byName bool) *record { //nolint:revive // flag-parameter: the kind of a question is a fact, not a mode
	if byName {
		return &m.byName
	}
	return &m.byID
}

// mayBeAbsent reports whether the Node would count towards the budget if the cloud
// called it absent. Announced Nodes do not count, because their absence is expected.
func (m *member) mayBeAbsent() bool { return !m.leftAlone && !m.announced && m.silence.silent }

// isAbsent reports whether the Node counts towards the budget. A silent Node also
// counts if the cloud was not asked about it yet. At the beginning of a large failure,
// most silent Nodes have not been asked about.
func (m *member) isAbsent() bool { return m.mayBeAbsent() && (m.presence == absent || !m.checked) }

// dueOf returns the next time at which the Node counts differently merely because time
// has passed. It returns zero if there is none.
func (i *index) dueOf(m *member) time.Time {
	due := m.silence.from
	for _, byName := range []bool{false, true} {
		if m.standing(byName) != countsDenied {
			continue
		}
		if at := m.record(byName).since.Add(i.limits.ForeignAfter); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

func (m *member) standing(byName bool) standing { //nolint:revive // flag-parameter: the kind of a question is a fact, not a mode
	if byName {
		return m.viaName
	}
	return m.viaID
}

// count adds a member to all counts.
func (i *index) count(m *member, now time.Time) {
	m.viaID, m.viaName = i.standingOf(m, false, now), i.standingOf(m, true, now)
	if m.due = i.dueOf(m); !m.due.IsZero() {
		i.due.add(m)
	}
	if m.id != "" {
		i.holders[m.id] = append(i.holders[m.id], m)
	}
	i.budget(m, 1)
	i.each(m, func(t *tally) { t.each(m, 1, ordered.add) })
}

// uncount removes a member from all counts. The member must not have changed since it
// was counted.
func (i *index) uncount(m *member) {
	if !m.due.IsZero() {
		i.due.remove(m)
	}
	if others := slices.DeleteFunc(i.holders[m.id], func(o *member) bool { return o == m }); len(others) > 0 {
		i.holders[m.id] = others
	} else {
		delete(i.holders, m.id)
	}
	i.budget(m, -1)
	i.each(m, func(t *tally) { t.each(m, -1, ordered.remove) })
}

// budget adds a member to the counts of the budget if n is 1, and removes it if n is
// -1.
func (i *index) budget(m *member, n int) {
	if m.id != "" && !m.disowned {
		i.withID += n
	}
	if m.leftAlone {
		return
	}
	a := i.kins[m.kin()]
	if a == nil {
		a = &absentees{}
		i.kins[m.kin()] = a
	}
	a.nodes += n
	if m.isAbsent() {
		a.absent += n
	}
	if m.tainted && m.silence.silent {
		a.leaving += n
	}
	if a.nodes == 0 {
		delete(i.kins, m.kin())
	}
	if m.zone != "" {
		i.countInZone(m, n)
	}
}

func (i *index) countInZone(m *member, n int) {
	in := circle{m.kin(), zoneLabel, m.region + "/" + m.zone}
	z := i.zones[in]
	if z == nil {
		z = &zoneView{}
		i.zones[in] = z
	}
	z.nodes += n
	if !m.silence.silent {
		z.reporting += n
	}
	if z.nodes == 0 {
		delete(i.zones, in)
	}
}

// each calls f for each tally that includes the member.
func (i *index) each(m *member, f func(*tally)) {
	for _, k := range []kin{m.kin(), {byName: true}} {
		if m.standing(k.byName) == countsNothing {
			continue
		}
		for c := range m.circles(k) {
			t := i.circles[c]
			if t == nil {
				t = newTally(k.byName)
				i.circles[c] = t
			}
			f(t)
			if t.others == 0 && t.foreign.tree.Len() == 0 {
				delete(i.circles, c)
			}
		}
		if k.byName {
			break // A Node without a provider ID belongs to this kin only.
		}
	}
}

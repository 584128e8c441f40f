package simulator

import "time"

// removed is the state after Terminated, in which an instance is no longer listed.
const removed State = "removed"

// machine is an instance as the cloud itself knows it.
type machine struct {
	Instance

	Created time.Time `json:"created"`
	// Next is the state that the instance takes at NextAt; empty if it stays.
	Next   State     `json:"next,omitempty"`
	NextAt time.Time `json:"nextAt,omitzero"`
}

func (m machine) identity() identity { return identity{id: m.ID, name: m.Name, created: m.Created} }

// moves is when the machine will change by itself; zero if it will not.
func (m machine) moves() time.Time { return m.NextAt }

// pace is how long the states last that an instance only passes through.
type pace struct {
	transition time.Duration // pending and stopping
	terminated time.Duration
}

func (m machine) start(now time.Time, p pace) (machine, error) {
	switch m.State {
	case Pending, Running:
		return m, nil
	case Stopped:
		return m.pass(Pending, Running, now.Add(p.transition)), nil
	case Stopping, Terminated, removed:
	}
	return m, m.conflict("start")
}

func (m machine) stop(now time.Time, p pace) (machine, error) {
	switch m.State {
	case Stopping, Stopped:
		return m, nil
	case Pending, Running:
		return m.pass(Stopping, Stopped, now.Add(p.transition)), nil
	case Terminated, removed:
	}
	return m, m.conflict("stop")
}

func (m machine) terminate(now time.Time, p pace) machine {
	if m.State == Terminated || m.Next == Terminated {
		return m
	}
	return m.pass(Stopping, Terminated, now.Add(p.transition))
}

func (m machine) pass(through, to State, at time.Time) machine {
	m.State, m.Next, m.NextAt = through, to, at
	return m
}

func (m machine) conflict(verb string) error {
	return conflict(CodeConflict, "instance %s (%s) is %s: cannot %s it", m.ID, m.Name, m.State, verb)
}

// at is the machine as it has become by now.
func (m machine) at(now time.Time, p pace) machine {
	for m.Next != "" && !m.NextAt.After(now) {
		m.State, m.Next = m.Next, ""
		if m.State == Terminated {
			m.Next, m.NextAt = removed, m.NextAt.Add(p.terminated)
		}
	}
	if m.Next == "" {
		m.NextAt = time.Time{}
	}
	return m
}

// row is how the machine is kept; one that is removed is not.
func (m machine) row() *machine {
	if m.State == removed {
		return nil
	}
	return &m
}

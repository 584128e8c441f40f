package state

import (
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// removed is the state after Terminated, in which an instance is no longer listed.
const removed wire.State = "removed"

// machine is an instance as the cloud stores it.
type machine struct {
	wire.Instance

	Created time.Time `json:"created"`
	// Next is the state of the instance from the time NextAt on; empty if no change is
	// due.
	Next   wire.State `json:"next,omitempty"`
	NextAt time.Time  `json:"nextAt,omitzero"`
}

func (m machine) identity() identity { return identity{id: m.ID, name: m.Name, created: m.Created} }

// moves returns the time at which the machine will next change by itself; zero
// if it will not.
func (m machine) moves() time.Time { return m.NextAt }

func (m machine) start(now time.Time, p Delays) (machine, error) {
	switch m.State {
	case wire.Pending, wire.Running:
		return m, nil
	case wire.Stopped:
		return m.pass(wire.Pending, wire.Running, now.Add(p.Transition)), nil
	case wire.Stopping, wire.Terminated, removed:
	}
	return m, m.conflict("start")
}

func (m machine) stop(now time.Time, p Delays) (machine, error) {
	switch m.State {
	case wire.Stopping, wire.Stopped:
		return m, nil
	case wire.Pending, wire.Running:
		return m.pass(wire.Stopping, wire.Stopped, now.Add(p.Transition)), nil
	case wire.Terminated, removed:
	}
	return m, m.conflict("stop")
}

func (m machine) terminate(now time.Time, p Delays) machine {
	if m.State == wire.Terminated || m.Next == wire.Terminated {
		return m
	}
	return m.pass(wire.Stopping, wire.Terminated, now.Add(p.Transition))
}

func (m machine) pass(through, to wire.State, at time.Time) machine {
	m.State, m.Next, m.NextAt = through, to, at
	return m
}

func (m machine) conflict(verb string) error {
	return conflict(wire.CodeConflict, "instance %s (%s) is %s: cannot %s it", m.ID, m.Name, m.State, verb)
}

// at returns the machine in its state at the given time.
func (m machine) at(now time.Time, p Delays) machine {
	for m.Next != "" && !m.NextAt.After(now) {
		m.State, m.Next = m.Next, ""
		if m.State == wire.Terminated {
			m.Next, m.NextAt = removed, m.NextAt.Add(p.Terminated)
		}
	}
	if m.Next == "" {
		m.NextAt = time.Time{}
	}
	return m
}

// row returns the row to store for the machine; nil if the machine is removed.
func (m machine) row() *machine {
	if m.State == removed {
		return nil
	}
	return &m
}

package state

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
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
			m.TerminatedAt = m.NextAt.UTC()
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

// CreateInstance creates an instance.
func (s *Store) CreateInstance(ctx context.Context, wanted wire.Instance) (wire.Instance, error) {
	wanted, err := newInstance(wanted)
	if err != nil {
		return wire.Instance{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	if len(wanted.Addresses) == 0 {
		ip, err := instanceAddresses.free(s.Instances.last, func(ip netip.Addr) bool { return s.holder(ip.String(), "") != nil })
		if err != nil {
			return wire.Instance{}, conflict(wire.CodeConflict, "%v", err)
		}
		wanted.Addresses = []wire.Address{{Type: wire.InternalIP, Address: ip.String()}}
	}
	wanted.ID = s.Instances.nextID()
	s.Instances.last++
	m := machine{Instance: wanted, Created: now}
	created, err := s.put(ctx, now, m.pass(wire.Pending, wire.Running, now.Add(s.config.Delays.Transition)))
	if err != nil {
		s.Instances.last--
	}
	return created, err
}

// UpdateInstance changes an instance.
func (s *Store) UpdateInstance(ctx context.Context, id string, patch wire.InstancePatch, v Distortions) (wire.Instance, error) {
	return s.change(ctx, id, v, func(m machine, _ time.Time) (machine, error) {
		if m.State == wire.Terminated {
			return m, m.conflict("change")
		}
		patched, err := patchedInstance(m.Instance, patch)
		m.Instance = patched
		return m, err
	})
}

// StartInstance starts a stopped instance.
func (s *Store) StartInstance(ctx context.Context, id string, v Distortions) (wire.Instance, error) {
	return s.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.start(now, s.config.Delays) })
}

// StopInstance stops a running instance.
func (s *Store) StopInstance(ctx context.Context, id string, v Distortions) (wire.Instance, error) {
	return s.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.stop(now, s.config.Delays) })
}

// TerminateInstance terminates an instance. The instance cannot be started
// again.
func (s *Store) TerminateInstance(ctx context.Context, id string, v Distortions) (wire.Instance, error) {
	return s.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.terminate(now, s.config.Delays), nil })
}

// change applies a function to an instance and stores the result. It fails if the
// distortions hide the instance from the caller.
func (s *Store) change(ctx context.Context, id string, v Distortions, by func(machine, time.Time) (machine, error)) (wire.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	m, err := s.Instances.visible(id, now, v)
	if err != nil {
		return wire.Instance{}, err
	}
	changed, err := by(*m, now)
	if err != nil {
		return wire.Instance{}, err
	}
	return s.put(ctx, now, changed)
}

// put stores an instance, unless another instance has one of its IP addresses. s.mu is
// held.
func (s *Store) put(ctx context.Context, now time.Time, m machine) (wire.Instance, error) {
	m = m.at(now, s.config.Delays)
	if err := s.checkHolders(m); err != nil {
		return wire.Instance{}, err
	}
	if err := commit(s, now, s.Instances.table, m.ID, m.row()); err != nil {
		return wire.Instance{}, err
	}
	s.followTargets(ctx, now)
	s.expectMoves()
	klog.FromContext(ctx).Info("Instance written", "instance", m.ID, "name", m.Name, "state", m.State)
	return m.Instance, nil
}

// checkHolders requires that no other instance has an IP address of this machine. s.mu
// is held.
func (s *Store) checkHolders(m machine) error {
	if m.State == wire.Terminated || m.State == removed {
		return nil // a terminated instance no longer has its addresses
	}
	for n, a := range m.Addresses {
		if !isIP(a) {
			continue
		}
		if other := s.holder(a.Address, m.ID); other != nil {
			return input.Invalid(fmt.Sprintf("addresses[%d].address", n), "%s belongs to instance %s (%s)", a.Address, other.ID, other.Name)
		}
	}
	return nil
}

// holder returns the instance that has the address. It ignores the instance with
// the given ID. s.mu is held.
func (s *Store) holder(ip, id string) *machine {
	for _, m := range s.Instances.rows {
		if m.ID != id && m.State != wire.Terminated && hasIP(m.Instance, ip) {
			return m
		}
	}
	return nil
}

func hasIP(i wire.Instance, ip string) bool {
	return slices.ContainsFunc(i.Addresses, func(a wire.Address) bool { return isIP(a) && a.Address == ip })
}

// settleInstances applies the due changes of instances. s.mu is held.
func (s *Store) settleInstances(ctx context.Context, now time.Time) {
	for _, m := range s.Instances.all() {
		if m.Next == "" || m.NextAt.After(now) {
			continue
		}
		moved := m.at(now, s.config.Delays)
		s.Instances.remember(s.Instances.exchange(now, m.ID, moved.row()))
		klog.FromContext(ctx).Info("Instance changed by itself", "instance", m.ID, "name", m.Name, "state", moved.State)
	}
}

func checkSavedInstance(m *machine) (err error) {
	m.Instance, err = checkedInstance(m.Instance)
	return err
}

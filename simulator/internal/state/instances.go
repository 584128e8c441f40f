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

// Instance returns one instance.
func (s *Store) Instance(ctx context.Context, id string, v Distortions) (wire.Instance, error) {
	m := seen(ctx, s, s.instances, v, id)
	if m == nil {
		return wire.Instance{}, missing("instance", id)
	}
	return m.Instance, nil
}

// ListInstances returns a page of instances. If there are more pages, it also
// returns the last ID on this page.
func (s *Store) ListInstances(ctx context.Context, q Query, v Distortions) ([]wire.Instance, string) {
	rows, next := page(ctx, s, s.instances, q, v)
	all := make([]wire.Instance, len(rows))
	for n, m := range rows {
		all[n] = m.Instance
	}
	return all, next
}

// IdentifyInstances completes a subject: it adds the ID and the name of each instance
// that the subject selects.
func (s *Store) IdentifyInstances(ctx context.Context, about Subject) Subject {
	return identified(ctx, s, s.instances, about)
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
		ip, err := instanceAddresses.free(s.lastInstance, func(ip netip.Addr) bool { return s.holder(ip.String(), "") != nil })
		if err != nil {
			return wire.Instance{}, conflict(wire.CodeConflict, "%v", err)
		}
		wanted.Addresses = []wire.Address{{Type: wire.InternalIP, Address: ip.String()}}
	}
	s.lastInstance++
	wanted.ID = instanceIDs.id(s.lastInstance)
	m := machine{Instance: wanted, Created: now}
	created, err := s.put(ctx, now, m.pass(wire.Pending, wire.Running, now.Add(s.config.Delays.Transition)))
	if err != nil {
		s.lastInstance--
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
	m := s.instances.row(id)
	if m == nil || v.hides(m.identity(), now) {
		return wire.Instance{}, missing("instance", id)
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
	if err := commit(s, now, s.instances, m.ID, m.row()); err != nil {
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
	for _, m := range s.instances.rows {
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
	for _, m := range s.instances.all() {
		if m.Next == "" || m.NextAt.After(now) {
			continue
		}
		moved := m.at(now, s.config.Delays)
		s.instances.remember(s.instances.exchange(now, m.ID, moved.row()))
		klog.FromContext(ctx).Info("Instance changed by itself", "instance", m.ID, "name", m.Name, "state", moved.State)
	}
}

// restorable checks a saved instance and puts it into its stored form. It returns
// an error if the instance is invalid. s.mu is held.
func (s *Store) restorable(m *machine) error {
	if err := restorable(instanceIDs, m.ID, s.lastInstance, s.instances); err != nil {
		return err
	}
	if !slices.Contains([]wire.State{wire.Pending, wire.Running, wire.Stopping, wire.Stopped, wire.Terminated}, m.State) {
		return fmt.Errorf("state: %q is not a state of instances", m.State)
	}
	checked, err := checkedInstance(m.Instance)
	m.Instance = checked
	return err
}

package simulator

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"k8s.io/klog/v2"
)

func (c *Cloud) instance(ctx context.Context, id string, v view) (Instance, error) {
	m := seen(ctx, c, c.instances, v, id)
	if m == nil {
		return Instance{}, noInstance(id)
	}
	return m.Instance, nil
}

func (c *Cloud) createInstance(ctx context.Context, wanted Instance) (Instance, error) {
	wanted, err := wanted.asCreated()
	if err != nil {
		return Instance{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	if len(wanted.Addresses) == 0 {
		ip, err := instanceAddresses.free(c.lastInstance, func(ip netip.Addr) bool { return c.holder(ip.String(), "") != nil })
		if err != nil {
			return Instance{}, conflict(CodeConflict, "%v", err)
		}
		wanted.Addresses = []Address{{Type: InternalIP, Address: ip.String()}}
	}
	c.lastInstance++
	wanted.ID = instanceIDs.id(c.lastInstance)
	m := machine{Instance: wanted, Created: now}
	created, err := c.put(ctx, now, m.pass(Pending, Running, now.Add(c.pace.transition)))
	if err != nil {
		c.lastInstance--
	}
	return created, err
}

func (c *Cloud) updateInstance(ctx context.Context, id string, patch InstancePatch, v view) (Instance, error) {
	return c.change(ctx, id, v, func(m machine, _ time.Time) (machine, error) {
		if m.State == Terminated {
			return m, m.conflict("change")
		}
		patched, err := m.patched(patch)
		m.Instance = patched
		return m, err
	})
}

func (c *Cloud) startInstance(ctx context.Context, id string, v view) (Instance, error) {
	return c.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.start(now, c.pace) })
}

func (c *Cloud) stopInstance(ctx context.Context, id string, v view) (Instance, error) {
	return c.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.stop(now, c.pace) })
}

func (c *Cloud) terminateInstance(ctx context.Context, id string, v view) (Instance, error) {
	return c.change(ctx, id, v, func(m machine, now time.Time) (machine, error) { return m.terminate(now, c.pace), nil })
}

// change replaces an instance, unless the caller does not see it yet.
func (c *Cloud) change(ctx context.Context, id string, v view, by func(machine, time.Time) (machine, error)) (Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	m := c.instances.row(id)
	if m == nil || v.hides(m.identity(), now) {
		return Instance{}, noInstance(id)
	}
	changed, err := by(*m, now)
	if err != nil {
		return Instance{}, err
	}
	return c.put(ctx, now, changed)
}

// put checks an instance against the others and keeps it. c.mu is held.
func (c *Cloud) put(ctx context.Context, now time.Time, m machine) (Instance, error) {
	m = m.at(now, c.pace)
	if err := c.checkHolders(m); err != nil {
		return Instance{}, err
	}
	if err := commit(c, now, c.instances, m.ID, m.row()); err != nil {
		return Instance{}, err
	}
	c.followTargets(ctx, now)
	c.expectMoves()
	klog.FromContext(ctx).Info("Instance written", "instance", m.ID, "name", m.Name, "state", m.State)
	return m.Instance, nil
}

// checkHolders demands that no IP address belongs to two instances. c.mu is held.
func (c *Cloud) checkHolders(m machine) error {
	if m.State == Terminated || m.State == removed {
		return nil // it has given its addresses back
	}
	for n, a := range m.Addresses {
		if !a.isIP() {
			continue
		}
		if other := c.holder(a.Address, m.ID); other != nil {
			return invalid(fmt.Sprintf("addresses[%d].address", n), "%s belongs to instance %s (%s)", a.Address, other.ID, other.Name)
		}
	}
	return nil
}

// holder is the instance other than id that has the address. c.mu is held.
func (c *Cloud) holder(ip, id string) *machine {
	for _, m := range c.instances.rows {
		if m.ID != id && m.State != Terminated && m.hasIP(ip) {
			return m
		}
	}
	return nil
}

func (i Instance) hasIP(ip string) bool {
	return slices.ContainsFunc(i.Addresses, func(a Address) bool { return a.isIP() && a.Address == ip })
}

// settleInstances lets instances become what they have become by now. c.mu is
// held.
func (c *Cloud) settleInstances(ctx context.Context, now time.Time) {
	for _, m := range c.instances.all() {
		if m.Next == "" || m.NextAt.After(now) {
			continue
		}
		moved := m.at(now, c.pace)
		c.instances.remember(c.instances.exchange(now, m.ID, moved.row()))
		klog.FromContext(ctx).Info("Instance changed by itself", "instance", m.ID, "name", m.Name, "state", moved.State)
	}
}

// restorable says why an instance could not have been saved. c.mu is held.
func (c *Cloud) restorable(m *machine) error {
	if err := restorable(instanceIDs, m.ID, c.lastInstance, c.instances); err != nil {
		return err
	}
	if !slices.Contains([]State{Pending, Running, Stopping, Stopped, Terminated}, m.State) {
		return fmt.Errorf("state: %q is none", m.State)
	}
	checked, err := m.checked()
	m.Instance = checked
	return err
}

func noInstance(id string) error {
	return &APIError{StatusCode: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("instance %s does not exist", id)}
}

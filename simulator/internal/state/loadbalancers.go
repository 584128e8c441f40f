package state

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// balancer is a load balancer as the cloud stores it. It has an address from the
// start. Customers see the address once the load balancer is active.
type balancer struct {
	wire.LoadBalancer

	Created time.Time `json:"created"`
	// ActiveAt is the time at which the load balancer becomes active; zero once it
	// is active.
	ActiveAt time.Time `json:"activeAt,omitzero"`
}

func (b balancer) identity() identity {
	return identity{id: b.ID, name: b.Name, tags: b.Tags, created: b.Created}
}

// at returns the load balancer in its state at the given time.
func (b balancer) at(now time.Time) balancer {
	if !b.ActiveAt.After(now) {
		b.State, b.ActiveAt = wire.LoadBalancerActive, time.Time{}
	}
	return b
}

// shown returns the load balancer as customers see it.
func (b balancer) shown() wire.LoadBalancer {
	l := b.LoadBalancer
	if l.State != wire.LoadBalancerActive {
		l.Address = ""
	}
	return l
}

// ActiveLoadBalancer is a load balancer that carries traffic.
type ActiveLoadBalancer struct {
	wire.LoadBalancer

	// Instances[n] is the instance of Backends[n], or nil if that instance does not
	// exist. Callers must not change the instances.
	Instances []*wire.Instance
}

// ActiveLoadBalancers returns the load balancers that carry traffic.
func (s *Store) ActiveLoadBalancers() []ActiveLoadBalancer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ActiveLoadBalancer
	for _, b := range s.LoadBalancers.all() {
		if b.State != wire.LoadBalancerActive {
			continue
		}
		active := ActiveLoadBalancer{LoadBalancer: b.LoadBalancer, Instances: make([]*wire.Instance, len(b.Backends))}
		for n, id := range b.Backends {
			if m := s.Instances.row(id); m != nil && m.State != wire.Terminated {
				active.Instances[n] = &m.Instance
			}
		}
		all = append(all, active)
	}
	return all
}

// BalancerAddresses returns the addresses of load balancers and static IPs.
func (s *Store) BalancerAddresses() []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []netip.Addr
	for _, b := range s.LoadBalancers.all() {
		all = append(all, netip.MustParseAddr(b.Address)) // checked when it was assigned
	}
	for _, r := range s.StaticIPs.all() {
		all = append(all, netip.MustParseAddr(r.Address)) // checked when it was assigned
	}
	return all
}

// CreateLoadBalancer creates a load balancer.
func (s *Store) CreateLoadBalancer(ctx context.Context, wanted wire.LoadBalancer) (wire.LoadBalancer, error) {
	wanted, err := newLoadBalancer(wanted)
	if err != nil {
		return wire.LoadBalancer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	if n, most := len(s.LoadBalancers.table.ids), s.config.Limits.LoadBalancers; most > 0 && n >= most {
		return wire.LoadBalancer{}, conflict(wire.CodeQuotaExceeded, "the account has %d load balancers, and its quota is %d", n, most)
	}
	wanted.ID, wanted.State = s.LoadBalancers.nextID(), wire.LoadBalancerPending
	return s.putBalancer(ctx, now, balancer{LoadBalancer: wanted, Created: now, ActiveAt: now.Add(s.config.Delays.Provisioning)})
}

// UpdateLoadBalancer changes a load balancer.
func (s *Store) UpdateLoadBalancer(ctx context.Context, id string, patch wire.LoadBalancerPatch, v Distortions) (wire.LoadBalancer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	b, err := s.LoadBalancers.visible(id, now, v)
	if err != nil {
		return wire.LoadBalancer{}, err
	}
	patched, err := patchedLoadBalancer(b.LoadBalancer, patch)
	if err != nil {
		return wire.LoadBalancer{}, err
	}
	changed := *b
	changed.LoadBalancer = patched
	if patched.StaticIP != b.StaticIP {
		changed.Address = ""
	}
	return s.putBalancer(ctx, now, changed)
}

// SetBackends gives several load balancers the same backends. It returns an error or
// nil for each load balancer. If one fails, the others still get their backends.
func (s *Store) SetBackends(ctx context.Context, wanted wire.SharedBackends, v Distortions) []error {
	ids := s.balancersNamed(ctx, wanted)
	errs := make([]error, len(wanted.Names))
	for n, name := range wanted.Names {
		if ids[name] == "" {
			errs[n] = missing("load balancer", name)
			continue
		}
		_, errs[n] = s.UpdateLoadBalancer(ctx, ids[name], wire.LoadBalancerPatch{Backends: wanted.Backends}, v)
	}
	return errs
}

// balancersNamed finds the load balancers that have all wanted tags. It returns
// their IDs by name.
func (s *Store) balancersNamed(ctx context.Context, wanted wire.SharedBackends) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(ctx)
	ids := map[string]string{}
	for id, b := range s.LoadBalancers.rows {
		tagged := true
		for key, value := range wanted.Tags {
			tagged = tagged && b.Tags[key] == value
		}
		if tagged {
			ids[b.Name] = id
		}
	}
	return ids
}

// DeleteLoadBalancer deletes a load balancer.
func (s *Store) DeleteLoadBalancer(ctx context.Context, id string, v Distortions) (wire.LoadBalancer, error) {
	return s.LoadBalancers.remove(ctx, id, v, func(*balancer) error { return nil })
}

// putBalancer checks a load balancer against the other resources, assigns an address if
// it has none, and stores it. s.mu is held.
func (s *Store) putBalancer(ctx context.Context, now time.Time, b balancer) (none wire.LoadBalancer, err error) {
	if err := s.checkBalancer(b.LoadBalancer); err != nil {
		return none, err
	}
	switch {
	case b.Address != "":
	case b.StaticIP != "":
		b.Address = s.StaticIPs.row(b.StaticIP).Address
	default:
		if b.Address, err = s.freeBalancerAddress(ctx); err != nil {
			return none, err
		}
	}
	b = b.at(now)
	before := s.LoadBalancers.last
	if b.ID == s.LoadBalancers.nextID() {
		s.LoadBalancers.last++
	}
	if err := commit(s, now, s.LoadBalancers.table, b.ID, &b); err != nil {
		s.LoadBalancers.last = before
		return none, err
	}
	s.expectMoves()
	klog.FromContext(ctx).Info("Load balancer written", "loadBalancer", b.ID, "name", b.Name, "state", b.State, "backends", len(b.Backends))
	return b.shown(), nil
}

// checkBalancer checks a load balancer against the other resources. s.mu is
// held.
func (s *Store) checkBalancer(l wire.LoadBalancer) error {
	if n, most := len(l.Backends), s.config.Limits.Backends; most > 0 && n > most {
		return conflict(wire.CodeQuotaExceeded, "load balancer %s would have %d backends; the quota is %d for each load balancer", l.Name, n, most)
	}
	if l.StaticIP != "" && s.StaticIPs.row(l.StaticIP) == nil {
		return input.Invalid("staticIP", "%s does not exist", l.StaticIP)
	}
	if err := s.LoadBalancers.checkName(l.ID, l.Name); err != nil {
		return err
	}
	for _, other := range s.LoadBalancers.rows {
		if other.ID != l.ID && l.StaticIP != "" && other.StaticIP == l.StaticIP {
			return conflict(wire.CodeConflict, "static IP %s is used by load balancer %s (%s)", l.StaticIP, other.ID, other.Name)
		}
	}
	return nil
}

// settleLoadBalancers activates the load balancers that are due. s.mu is held.
func (s *Store) settleLoadBalancers(ctx context.Context, now time.Time) {
	for _, b := range s.LoadBalancers.all() {
		if b.ActiveAt.IsZero() || b.ActiveAt.After(now) {
			continue
		}
		active := b.at(now)
		s.LoadBalancers.remember(s.LoadBalancers.exchange(now, b.ID, &active))
		klog.FromContext(ctx).Info("Load balancer is active", "loadBalancer", b.ID, "name", b.Name, "address", b.Address)
	}
}

func (s *Store) checkSavedBalancer(b *balancer) (err error) {
	if !isBalancerAddress(b.Address) {
		return input.Invalid("address", "%q is not an address for load balancers", b.Address)
	}
	if b.LoadBalancer, err = checkedLoadBalancer(b.LoadBalancer); err != nil {
		return err
	}
	return s.checkBalancer(b.LoadBalancer)
}

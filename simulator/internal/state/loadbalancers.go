package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// LoadBalancer returns one load balancer.
func (s *Store) LoadBalancer(ctx context.Context, id string, v Distortions) (wire.LoadBalancer, error) {
	b := seen(ctx, s, s.loadBalancers, v, id)
	if b == nil {
		return wire.LoadBalancer{}, missing("load balancer", id)
	}
	return b.shown(), nil
}

// ListLoadBalancers returns a page of load balancers. If there are more pages,
// it also returns the last ID on this page.
func (s *Store) ListLoadBalancers(ctx context.Context, q Query, v Distortions) ([]wire.LoadBalancer, string) {
	rows, next := page(ctx, s, s.loadBalancers, q, v)
	all := make([]wire.LoadBalancer, len(rows))
	for n, b := range rows {
		all[n] = b.shown()
	}
	return all, next
}

// IdentifyLoadBalancers completes a subject: it adds the ID and the name of each load
// balancer that the subject selects.
func (s *Store) IdentifyLoadBalancers(ctx context.Context, about Subject) Subject {
	return identified(ctx, s, s.loadBalancers, about)
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
	if n, most := len(s.loadBalancers.ids), s.config.Limits.LoadBalancers; most > 0 && n >= most {
		return wire.LoadBalancer{}, conflict(wire.CodeQuotaExceeded, "the account has %d load balancers, and its quota is %d", n, most)
	}
	number := s.lastLoadBalancer + 1
	wanted.ID, wanted.State = loadBalancerIDs.id(number), wire.LoadBalancerPending
	created, err := s.putBalancer(ctx, now, balancer{LoadBalancer: wanted, Created: now, ActiveAt: now.Add(s.config.Delays.Provisioning)}, number)
	if err != nil {
		return wire.LoadBalancer{}, err
	}
	return created.shown(), nil
}

// UpdateLoadBalancer changes a load balancer.
func (s *Store) UpdateLoadBalancer(ctx context.Context, id string, patch wire.LoadBalancerPatch, v Distortions) (wire.LoadBalancer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	b := s.loadBalancers.row(id)
	if b == nil || v.hides(b.identity(), now) {
		return wire.LoadBalancer{}, missing("load balancer", id)
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
	changed, err = s.putBalancer(ctx, now, changed, s.lastLoadBalancer)
	if err != nil {
		return wire.LoadBalancer{}, err
	}
	return changed.shown(), nil
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
	for id, b := range s.loadBalancers.rows {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	b := s.loadBalancers.row(id)
	if b == nil || v.hides(b.identity(), now) {
		return wire.LoadBalancer{}, missing("load balancer", id)
	}
	if err := commit(s, now, s.loadBalancers, id, nil); err != nil {
		return wire.LoadBalancer{}, err
	}
	klog.FromContext(ctx).Info("Load balancer deleted", "loadBalancer", id, "name", b.Name)
	return b.shown(), nil
}

// putBalancer checks a load balancer against the other resources, assigns an address if
// it has none, and stores it. It also sets s.lastLoadBalancer to the given number. s.mu
// is held.
func (s *Store) putBalancer(ctx context.Context, now time.Time, b balancer, number int) (balancer, error) {
	if err := s.checkBalancer(b.LoadBalancer); err != nil {
		return b, err
	}
	if b.Address == "" {
		address, err := s.balancerAddress(ctx, b.LoadBalancer)
		if err != nil {
			return b, err
		}
		b.Address = address
	}
	b = b.at(now)
	before := s.lastLoadBalancer
	s.lastLoadBalancer = number
	if err := commit(s, now, s.loadBalancers, b.ID, &b); err != nil {
		s.lastLoadBalancer = before
		return b, err
	}
	s.expectMoves()
	klog.FromContext(ctx).Info("Load balancer written", "loadBalancer", b.ID, "name", b.Name, "state", b.State, "backends", len(b.Backends))
	return b, nil
}

// checkBalancer checks a load balancer against the other resources. s.mu is
// held.
func (s *Store) checkBalancer(l wire.LoadBalancer) error {
	if n, most := len(l.Backends), s.config.Limits.Backends; most > 0 && n > most {
		return conflict(wire.CodeQuotaExceeded, "load balancer %s would have %d backends; the quota is %d for each load balancer", l.Name, n, most)
	}
	if l.StaticIP != "" && s.staticIPs.row(l.StaticIP) == nil {
		return input.Invalid("staticIP", "%s does not exist", l.StaticIP)
	}
	for _, other := range s.loadBalancers.rows {
		switch {
		case other.ID == l.ID:
		case other.Name == l.Name:
			return conflict(wire.CodeAlreadyExists, "the name %s belongs to load balancer %s", l.Name, other.ID)
		case l.StaticIP != "" && other.StaticIP == l.StaticIP:
			return conflict(wire.CodeConflict, "static IP %s is used by load balancer %s (%s)", l.StaticIP, other.ID, other.Name)
		}
	}
	return nil
}

// balancerAddress returns the address of the static IP, or a free one. s.mu is
// held.
func (s *Store) balancerAddress(ctx context.Context, l wire.LoadBalancer) (string, error) {
	if l.StaticIP != "" {
		return s.staticIPs.row(l.StaticIP).Address, nil
	}
	return s.freeBalancerAddress(ctx)
}

// settleLoadBalancers activates the load balancers that are due. s.mu is held.
func (s *Store) settleLoadBalancers(ctx context.Context, now time.Time) {
	for _, b := range s.loadBalancers.all() {
		if b.ActiveAt.IsZero() || b.ActiveAt.After(now) {
			continue
		}
		active := b.at(now)
		s.loadBalancers.remember(s.loadBalancers.exchange(now, b.ID, &active))
		klog.FromContext(ctx).Info("Load balancer is active", "loadBalancer", b.ID, "name", b.Name, "address", b.Address)
	}
}

// restorableBalancer checks a saved load balancer and puts it into its stored form.
// It returns an error if the load balancer is invalid. s.mu is held.
func (s *Store) restorableBalancer(b *balancer) error {
	if err := restorable(loadBalancerIDs, b.ID, s.lastLoadBalancer, s.loadBalancers); err != nil {
		return err
	}
	if !slices.Contains([]wire.LoadBalancerState{wire.LoadBalancerPending, wire.LoadBalancerActive}, b.State) {
		return fmt.Errorf("state: %q is not a state of load balancers", b.State)
	}
	if !isBalancerAddress(b.Address) {
		return fmt.Errorf("address: %q is not an address for load balancers", b.Address)
	}
	if b.Traffic != nil {
		return errors.New("traffic: must be empty, because it is not saved")
	}
	checked, err := checkedLoadBalancer(b.LoadBalancer)
	if err != nil {
		return err
	}
	b.LoadBalancer = checked
	return s.checkBalancer(checked)
}

package state

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// reserved is a static IP as the cloud stores it.
type reserved struct {
	wire.StaticIP

	Created time.Time `json:"created"`
}

func (r reserved) identity() identity { return identity{id: r.ID, name: r.Name, created: r.Created} }

// StaticIP returns one static IP.
func (s *Store) StaticIP(ctx context.Context, id string, v Distortions) (wire.StaticIP, error) {
	r := seen(ctx, s, s.staticIPs, v, id)
	if r == nil {
		return wire.StaticIP{}, missing("static IP", id)
	}
	return s.shownStaticIPs([]*reserved{r})[0], nil
}

// shownStaticIPs returns the static IPs, each with the ID of the load balancer that
// uses it.
func (s *Store) shownStaticIPs(all []*reserved) []wire.StaticIP {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := map[string]string{}
	for _, b := range s.loadBalancers.rows {
		users[b.StaticIP] = b.ID
	}
	shown := make([]wire.StaticIP, len(all))
	for n, r := range all {
		shown[n] = r.StaticIP
		shown[n].LoadBalancer = users[r.ID]
	}
	return shown
}

// ListStaticIPs returns a page of static IPs. If there are more pages, it also
// returns the last ID on this page.
func (s *Store) ListStaticIPs(ctx context.Context, q Query, v Distortions) ([]wire.StaticIP, string) {
	rows, next := page(ctx, s, s.staticIPs, q, v)
	return s.shownStaticIPs(rows), next
}

// IdentifyStaticIPs completes a subject: it adds the ID and the name of each static IP
// that the subject selects.
func (s *Store) IdentifyStaticIPs(ctx context.Context, about Subject) Subject {
	return identified(ctx, s, s.staticIPs, about)
}

// CreateStaticIP reserves an address.
func (s *Store) CreateStaticIP(ctx context.Context, wanted wire.StaticIP) (wire.StaticIP, error) {
	switch {
	case wanted.ID != "":
		return wanted, input.Invalid("id", "must be empty; the cloud sets it")
	case wanted.LoadBalancer != "":
		return wanted, input.Invalid("loadBalancer", "must be empty; a load balancer names its static IP")
	}
	wanted, err := checkedStaticIP(wanted)
	if err != nil {
		return wanted, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	if err := s.checkStaticIP(wanted); err != nil {
		return wanted, err
	}
	if wanted.Address == "" {
		if wanted.Address, err = s.freeBalancerAddress(ctx); err != nil {
			return wanted, err
		}
	}
	s.lastStaticIP++
	wanted.ID = staticIPIDs.id(s.lastStaticIP)
	if err := commit(s, now, s.staticIPs, wanted.ID, &reserved{StaticIP: wanted, Created: now}); err != nil {
		s.lastStaticIP--
		return wanted, err
	}
	klog.FromContext(ctx).Info("Static IP reserved", "staticIP", wanted.ID, "name", wanted.Name, "address", wanted.Address)
	return wanted, nil
}

// checkedStaticIP checks a static IP and returns it in its stored form.
func checkedStaticIP(s wire.StaticIP) (wire.StaticIP, error) {
	if err := input.CheckWord("name", s.Name); err != nil {
		return s, err
	}
	if s.Address == "" {
		return s, nil
	}
	ip, err := netip.ParseAddr(s.Address)
	if err != nil || !balancerAddresses.has(ip.Unmap()) {
		return s, input.Invalid("address", "%q is not one of the addresses for load balancers, %s", s.Address, balancerAddresses)
	}
	s.Address = ip.Unmap().String()
	return s, nil
}

// checkStaticIP checks a new static IP against the other resources. s.mu is
// held.
func (s *Store) checkStaticIP(wanted wire.StaticIP) error {
	for _, other := range s.staticIPs.rows {
		if other.Name == wanted.Name {
			return conflict(wire.CodeAlreadyExists, "the name %s belongs to static IP %s", wanted.Name, other.ID)
		}
	}
	if user := s.addressUser(wanted.Address); wanted.Address != "" && user != "" {
		return conflict(wire.CodeConflict, "%s belongs to %s", wanted.Address, user)
	}
	return nil
}

// addressUser returns the kind and ID of the resource that uses a load balancer
// address, or "" if the address is free. s.mu is held.
func (s *Store) addressUser(address string) string {
	for _, r := range s.staticIPs.rows {
		if r.Address == address {
			return "static IP " + r.ID
		}
	}
	for _, b := range s.loadBalancers.rows {
		if b.Address == address {
			return "load balancer " + b.ID
		}
	}
	if m := s.holder(address, ""); m != nil {
		return "instance " + m.ID
	}
	return ""
}

// freeBalancerAddress returns a free address. Each creation of a load balancer or
// static IP moves the start of the search to the next address, so that the address of a
// deleted resource is rarely reused. s.mu is held.
func (s *Store) freeBalancerAddress(ctx context.Context) (string, error) {
	ip, err := balancerAddresses.free(s.lastLoadBalancer+s.lastStaticIP, func(ip netip.Addr) bool {
		return s.config.IsForeign(ctx, ip) || s.addressUser(ip.String()) != ""
	})
	if err != nil {
		return "", conflict(wire.CodeConflict, "%v", err)
	}
	return ip.String(), nil
}

// ReleaseStaticIP releases an address that no load balancer uses.
func (s *Store) ReleaseStaticIP(ctx context.Context, id string, v Distortions) (wire.StaticIP, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	r := s.staticIPs.row(id)
	if r == nil || v.hides(r.identity(), now) {
		return wire.StaticIP{}, missing("static IP", id)
	}
	for _, b := range s.loadBalancers.rows {
		if b.StaticIP == id {
			return r.StaticIP, conflict(wire.CodeConflict, "static IP %s is used by load balancer %s (%s)", id, b.ID, b.Name)
		}
	}
	if err := commit(s, now, s.staticIPs, id, nil); err != nil {
		return r.StaticIP, err
	}
	klog.FromContext(ctx).Info("Static IP released", "staticIP", id, "name", r.Name, "address", r.Address)
	return r.StaticIP, nil
}

// restorableStaticIP checks a saved static IP and puts it into its stored form. It
// returns an error if the static IP is invalid. s.mu is held.
func (s *Store) restorableStaticIP(r *reserved) error {
	if err := restorable(staticIPIDs, r.ID, s.lastStaticIP, s.staticIPs); err != nil {
		return err
	}
	if r.Address == "" || r.LoadBalancer != "" {
		return errors.New("address: is required, and loadBalancer must be empty")
	}
	checked, err := checkedStaticIP(r.StaticIP)
	if err != nil {
		return err
	}
	r.StaticIP = checked
	return s.checkStaticIP(checked)
}

package state

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Each instance and each load balancer has its own loopback address, so that
// their ports on one machine do not collide. The network 127.0.0.0/24 is left to
// other programs.
const (
	instanceAddresses block = 0  // 127.0.0.0/10
	balancerAddresses block = 64 // 127.64.0.0/10
)

// block is a quarter of all loopback addresses, 127.block.0.0/10. Its value is
// the second byte of the lowest address.
type block byte

const (
	blockNets  = 64*256 - 1 // networks of 256 addresses; the first one is not used, because 127.0.0.0/24 is left to others
	perNet     = 254        // addresses in a network, without .0 and .255, which look like mistakes
	blockTotal = blockNets * perNet
)

// address returns the n-th address. After the last address, it counts from the first
// again.
func (b block) address(n int) netip.Addr {
	n %= blockTotal
	network, host := n/perNet+1, n%perNet+1
	return netip.AddrFrom4([4]byte{127, byte(b) + byte(network/256), byte(network % 256), byte(host)}) //nolint:gosec // below 256, because n is below blockTotal
}

// free returns the first free address, beginning with the n-th.
func (b block) free(n int, taken func(netip.Addr) bool) (netip.Addr, error) {
	for i := range blockTotal {
		if ip := b.address(n + i); !taken(ip) {
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("all loopback addresses of %s are taken", b)
}

func (b block) prefix() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(b), 0, 0}), 10)
}

func (b block) has(ip netip.Addr) bool { return b.prefix().Contains(ip) }

// String returns the block in CIDR notation.
func (b block) String() string { return b.prefix().String() }

// isBalancerAddress reports whether the text is an address for load balancers.
func isBalancerAddress(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && balancerAddresses.has(ip)
}

// reserved is a static IP as the cloud stores it.
type reserved struct {
	wire.StaticIP

	Created time.Time `json:"created"`
}

func (r reserved) identity() identity { return identity{id: r.ID, name: r.Name, created: r.Created} }

// shownStaticIP returns the static IP with the ID of the load balancer that uses it.
// s.mu is held.
func (s *Store) shownStaticIP(r *reserved) wire.StaticIP {
	shown := r.StaticIP
	for _, b := range s.LoadBalancers.rows {
		if b.StaticIP == r.ID {
			shown.LoadBalancer = b.ID
		}
	}
	return shown
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
	wanted.ID = s.StaticIPs.nextID()
	return s.StaticIPs.add(ctx, now, &reserved{StaticIP: wanted, Created: now})
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
	if err := s.StaticIPs.checkName(wanted.ID, wanted.Name); err != nil {
		return err
	}
	if user := s.addressUser(wanted.Address); wanted.Address != "" && user != "" {
		return conflict(wire.CodeConflict, "%s belongs to %s", wanted.Address, user)
	}
	return nil
}

// addressUser returns the kind and ID of the resource that uses a load balancer
// address, or "" if the address is free. s.mu is held.
func (s *Store) addressUser(address string) string {
	for _, r := range s.StaticIPs.rows {
		if r.Address == address {
			return "static IP " + r.ID
		}
	}
	for _, b := range s.LoadBalancers.rows {
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
	ip, err := balancerAddresses.free(s.LoadBalancers.last+s.StaticIPs.last, func(ip netip.Addr) bool {
		return s.config.IsForeign(ctx, ip) || s.addressUser(ip.String()) != ""
	})
	if err != nil {
		return "", conflict(wire.CodeConflict, "%v", err)
	}
	return ip.String(), nil
}

// ReleaseStaticIP releases an address that no load balancer uses.
func (s *Store) ReleaseStaticIP(ctx context.Context, id string, v Distortions) (wire.StaticIP, error) {
	return s.StaticIPs.remove(ctx, id, v, func(*reserved) error {
		for _, b := range s.LoadBalancers.rows {
			if b.StaticIP == id {
				return conflict(wire.CodeConflict, "static IP %s is used by load balancer %s (%s)", id, b.ID, b.Name)
			}
		}
		return nil
	})
}

func checkSavedStaticIP(r *reserved) (err error) {
	if r.Address == "" {
		return input.Invalid("address", "is missing")
	}
	r.StaticIP, err = checkedStaticIP(r.StaticIP)
	return err
}

package state

import (
	"net/netip"
	"time"

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

// moves returns the time at which the load balancer will next change by itself;
// zero if it will not.
func (b balancer) moves() time.Time { return b.ActiveAt }

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
	for _, b := range s.loadBalancers.all() {
		if b.State != wire.LoadBalancerActive {
			continue
		}
		active := ActiveLoadBalancer{LoadBalancer: b.LoadBalancer, Instances: make([]*wire.Instance, len(b.Backends))}
		for n, id := range b.Backends {
			if m := s.instances.row(id); m != nil && m.State != wire.Terminated {
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
	for _, b := range s.loadBalancers.all() {
		all = append(all, netip.MustParseAddr(b.Address)) // checked when it was assigned
	}
	for _, r := range s.staticIPs.all() {
		all = append(all, netip.MustParseAddr(r.Address)) // checked when it was assigned
	}
	return all
}

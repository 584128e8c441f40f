package state

import (
	"fmt"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Saved is the state that is kept across restarts. Faults, counters and past changes are
// not kept.
type Saved struct {
	// LastInstance, LastLoadBalancer and so on are the last numbers that were used in
	// IDs. They are saved because no ID may be used twice.
	LastInstance int        `json:"lastInstance"`
	Instances    []*machine `json:"instances"`

	LastLoadBalancer int         `json:"lastLoadBalancer"`
	LoadBalancers    []*balancer `json:"loadBalancers"`

	LastStaticIP int         `json:"lastStaticIP"`
	StaticIPs    []*reserved `json:"staticIPs"`

	LastRoute int           `json:"lastRoute"`
	Routes    []*wire.Route `json:"routes"`

	LastVolume int     `json:"lastVolume"`
	Volumes    []*disk `json:"volumes"`
}

// maxNumber is the maximum number in a saved ID. The limit ensures that there
// is always a next number.
const maxNumber = 1 << 53

// saved returns the present state. s.mu is held.
func (s *Store) saved() Saved {
	return Saved{
		LastInstance: s.lastInstance, Instances: s.instances.all(),
		LastLoadBalancer: s.lastLoadBalancer, LoadBalancers: s.loadBalancers.all(),
		LastStaticIP: s.lastStaticIP, StaticIPs: s.staticIPs.all(),
		LastRoute: s.lastRoute, Routes: s.routes.all(),
		LastVolume: s.lastVolume, Volumes: s.volumes.all(),
	}
}

// Restore fills an empty store with a saved state. If the state is invalid, it
// returns an error that says why.
func (s *Store) Restore(saved Saved) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, last := range []struct {
		name   string
		number int
	}{
		{"lastInstance", saved.LastInstance},
		{"lastLoadBalancer", saved.LastLoadBalancer},
		{"lastStaticIP", saved.LastStaticIP},
		{"lastRoute", saved.LastRoute},
		{"lastVolume", saved.LastVolume},
	} {
		if last.number < 0 || last.number > maxNumber {
			return fmt.Errorf("%s: %d is not between 0 and %d", last.name, last.number, maxNumber)
		}
	}
	s.lastInstance, s.lastLoadBalancer, s.lastStaticIP, s.lastRoute = saved.LastInstance, saved.LastLoadBalancer, saved.LastStaticIP, saved.LastRoute
	s.lastVolume = saved.LastVolume
	for _, restore := range []func() error{
		func() error { return restoreAll("instances", saved.Instances, s.instances, s.restorable) },
		func() error { return restoreAll("staticIPs", saved.StaticIPs, s.staticIPs, s.restorableStaticIP) },
		func() error {
			return restoreAll("loadBalancers", saved.LoadBalancers, s.loadBalancers, s.restorableBalancer)
		},
		func() error { return restoreAll("routes", saved.Routes, s.routes, s.restorableRoute) },
		func() error { return restoreAll("volumes", saved.Volumes, s.volumes, s.restorableVolume) },
	} {
		if err := restore(); err != nil {
			return err
		}
	}
	s.expectMoves()
	return nil
}

// restoreAll restores the saved resources of one kind. If a resource is
// invalid, it returns an error that says why.
func restoreAll[T any](kind string, saved []*T, into *table[T], restorable func(*T) error) error {
	for n, row := range saved {
		if row == nil {
			return fmt.Errorf("%s[%d]: is null", kind, n)
		}
		if err := restorable(row); err != nil {
			return fmt.Errorf("%s[%d]: %w", kind, n, err)
		}
		into.replace(into.identify(*row).id, row)
	}
	return nil
}

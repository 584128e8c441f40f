package conformance_test

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

func (c *brokenCloud) Leftovers(_ context.Context, cluster string) ([]conformance.Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []conformance.Resource
	for _, b := range c.balancers {
		if b.cluster == cluster {
			left = append(left, conformance.Resource{Kind: conformance.KindLoadBalancer, ID: b.ID, Name: b.Name})
		}
	}
	for _, r := range c.routes {
		if r.cluster == cluster {
			left = append(left, conformance.Resource{Kind: conformance.KindRoute, ID: r.Name})
		}
	}
	for _, g := range c.groups {
		if g.cluster == cluster {
			left = append(left, conformance.Resource{Kind: "group", ID: g.id})
		}
	}
	return left, nil
}

func (c *brokenCloud) LoadBalancers(_ context.Context, cluster string) ([]conformance.LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []conformance.LoadBalancer
	for _, b := range c.balancers {
		if b.cluster == cluster {
			all = append(all, b.LoadBalancer)
		}
	}
	return all, nil
}

func (c *brokenCloud) HoldLoadBalancers(context.Context) (release func(), err error) {
	hold := func(held bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = held
	}
	hold(true)
	return func() { hold(false) }, nil
}

func (c *brokenCloud) ReserveAddress(context.Context, string) (conformance.Address, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
	ip := fmt.Sprintf("198.51.100.%d", c.created%250+1)
	c.reserved = append(c.reserved, ip)
	return conformance.Address{ID: ip, IP: ip}, nil
}

func (c *brokenCloud) ReleaseAddress(_ context.Context, a conformance.Address) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved = slices.DeleteFunc(c.reserved, func(ip string) bool { return ip == a.IP })
	return nil
}

// Warnings implements conformance.Announcer. The provider writes a warning if it ignores a
// field without an error.
func (c *brokenCloud) Warnings(_ context.Context, service *corev1.Service) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warnings[service.UID], nil
}

func (c *brokenCloud) Drift(_ context.Context, cluster string, what conformance.Drift) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.balancers, func(b balancer) bool { return b.cluster == cluster })
	b := &c.balancers[at]
	switch what {
	case conformance.DriftListener:
		b.Listeners = b.Listeners[1:]
	case conformance.DriftBackend:
		b.Backends = b.Backends[1:]
	case conformance.DriftLoadBalancer:
		c.balancers = slices.Delete(c.balancers, at, at+1)
	}
	return nil
}

func (c *brokenCloud) CreateForeign(_ context.Context, kind conformance.ResourceKind, what string) (conformance.Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
	made := conformance.Resource{Kind: kind, ID: fmt.Sprintf("f-%06d", c.created), Name: what}
	if kind == conformance.KindRoute {
		c.routes = append(c.routes, entry{Route: cloudprovider.Route{Name: made.ID, DestinationCIDR: what}})
		return made, nil
	}
	c.balancers = append(c.balancers, balancer{LoadBalancer: conformance.LoadBalancer{ID: made.ID, Name: what}, ready: true})
	return made, nil
}

func (c *brokenCloud) ForeignExists(_ context.Context, r conformance.Resource) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.balancers, func(b balancer) bool { return b.ID == r.ID && b.cluster == "" && len(b.Backends) == 0 }) ||
		slices.ContainsFunc(c.routes, func(e entry) bool { return e.Name == r.ID }), nil
}

func (c *brokenCloud) DeleteForeign(_ context.Context, r conformance.Resource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.balancers = slices.DeleteFunc(c.balancers, func(b balancer) bool { return b.ID == r.ID })
	c.routes = slices.DeleteFunc(c.routes, func(e entry) bool { return e.Name == r.ID })
	return nil
}

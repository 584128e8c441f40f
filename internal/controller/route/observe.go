package route

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// observe gathers what is known without I/O.
func (c *Controller) observe(changed time.Time) (observed, error) {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		return observed{}, fmt.Errorf("nodes in the cache: %w", err)
	}
	o := observed{now: c.clock.Now(), clusters: c.clusters, nodes: nodes, changed: changed, limits: c.limits}
	c.mu.Lock()
	defer c.mu.Unlock()
	o.listing, o.due, o.memory = c.listing, c.due, c.memory.clone()
	return o, nil
}

// fromCloud reads what the cloud has listed.
func fromCloud(listed []cloud.Route) []route {
	routes := make([]route, 0, len(listed))
	for _, l := range listed {
		r := route{
			identity:  identity{name: l.Name, target: l.Node, destination: l.CIDR},
			blackhole: l.Blackhole, addresses: slices.Clone(l.Addresses), addressed: l.Addressed,
		}
		if cidr, err := netip.ParsePrefix(l.CIDR); err == nil {
			r.cidr = cidr.Masked()
		}
		routes = append(routes, r)
	}
	return routes
}

// toCloud is the route as it was listed.
func (r route) toCloud() cloud.Route {
	return cloud.Route{
		Name: r.name, Node: r.target, CIDR: r.destination, Blackhole: r.blackhole,
		Addresses: slices.Clone(r.addresses), Addressed: r.addressed,
	}
}

// toCloud is the route that is to be created.
func (c creation) toCloud(cidr netip.Prefix) cloud.Route {
	return cloud.Route{Node: c.node.Name, CIDR: cidr.String(), Addresses: slices.Clone(c.node.Status.Addresses)}
}

package cloud

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// Route is one entry of the cloud's route table. It shares nothing with the
// provider.
type Route struct {
	// Name is the cloud's; empty for one that is to be created.
	Name string
	// Node is the name of the node that the route leads to, empty where the
	// provider knows none.
	Node string
	// CIDR is the destination as the provider has written it.
	CIDR string
	// Blackhole means that the cloud drops what takes this route.
	Blackhole bool
	// Addresses are those of the node. They mean something only if Addressed,
	// or in a route that is to be created.
	Addresses []corev1.NodeAddress
	// Addressed means that the provider keeps the node's addresses in the route.
	Addressed bool
}

// Routes are the provider's routes. Changes for one CIDR never overlap, also
// where one has outlived its deadline.
type Routes struct {
	gateway     *Gateway
	theirs      cloudprovider.Routes
	clusterName string
	listings    flights[[]Route]
	changes     changes
}

// newRoutes returns nil if the provider offers none, or nobody wants them.
func newRoutes(g *Gateway, p cloudprovider.Interface, cfg Config) *Routes {
	if cfg.WithoutRoutes {
		return nil
	}
	theirs := offered(p.Routes())
	if theirs == nil {
		return nil
	}
	return &Routes{
		gateway:     g,
		theirs:      theirs,
		clusterName: cfg.ClusterName,
		listings:    flights[[]Route]{clock: g.clock, patience: cfg.Patience, unshared: true},
		changes:     changes{gateway: g, timeout: cfg.ChangeTimeout, tries: throttledTries},
	}
}

var errNilRoute = errors.New("the provider listed a route that is nil")

// List returns the routes that the provider counts to this cluster. While a
// call is under way, a second one is refused with Slow.
func (r *Routes) List(ctx context.Context) ([]Route, error) {
	const call = "ListRoutes"
	return r.listings.ask(urgently(ctx), call, "", func(ctx context.Context) ([]Route, error) {
		return read(ctx, r.gateway, call, func(ctx context.Context) ([]Route, error) {
			theirs, err := r.theirs.ListRoutes(ctx, r.clusterName)
			if err == nil {
				// What is said after the deadline may be a part of the answer.
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			return fromRoutes(theirs)
		})
	})
}

// Create creates the route. The provider may use the hint for its name.
func (r *Routes) Create(ctx context.Context, hint string, route Route) error {
	return r.changes.change(urgently(ctx), "CreateRoute", route.CIDR, func(ctx context.Context) error {
		return r.theirs.CreateRoute(ctx, r.clusterName, hint, route.toProvider())
	})
}

// Delete deletes a route that was listed.
func (r *Routes) Delete(ctx context.Context, route Route) error {
	return r.changes.change(urgently(ctx), "DeleteRoute", route.CIDR, func(ctx context.Context) error {
		return r.theirs.DeleteRoute(ctx, r.clusterName, route.toProvider())
	})
}

func fromRoutes(theirs []*cloudprovider.Route) ([]Route, error) {
	routes := make([]Route, 0, len(theirs))
	for _, t := range theirs {
		if t == nil {
			return nil, errNilRoute
		}
		routes = append(routes, Route{
			Name: t.Name, Node: string(t.TargetNode), CIDR: t.DestinationCIDR, Blackhole: t.Blackhole,
			Addresses: slices.Clone(t.TargetNodeAddresses), Addressed: t.EnableNodeAddresses,
		})
	}
	return routes, nil
}

// toProvider makes a new object for each call: a provider may keep it.
func (r Route) toProvider() *cloudprovider.Route {
	return &cloudprovider.Route{
		Name: r.Name, TargetNode: types.NodeName(r.Node), DestinationCIDR: r.CIDR, Blackhole: r.Blackhole,
		TargetNodeAddresses: slices.Clone(r.Addresses), EnableNodeAddresses: r.Addressed,
	}
}

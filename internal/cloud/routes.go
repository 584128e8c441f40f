package cloud

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// Route is one entry of the cloud's route table. It shares no memory with the
// provider.
type Route struct {
	// Name is the name of the route in the cloud. It is empty if the route has
	// yet to be created.
	Name string
	// Node is the name of the node that the route leads to. It is empty if the
	// provider does not know the node.
	Node string
	// CIDR is the destination as the provider writes it.
	CIDR string
	// Blackhole means that the cloud drops packets that take this route.
	Blackhole bool
	// Addresses are the node's addresses. They are valid only if Addressed is
	// true, or if the route has yet to be created.
	Addresses []corev1.NodeAddress
	// Addressed means that the provider stores the node's addresses in the route.
	Addressed bool
}

// Routes are the provider's routes. Changes for the same CIDR never overlap, even
// if one of them has outlived its deadline.
type Routes struct {
	gateway     *Gateway
	theirs      cloudprovider.Routes
	clusterName string
	listings    inflight[[]Route]
	changes     changes
	together    *routeChanges // nil: each call is about one route
}

// newRoutes returns nil if the provider does not offer routes.
func newRoutes(g *Gateway, found parts, cfg Config) *Routes {
	if found.routes == nil {
		return nil
	}
	r := &Routes{
		gateway:     g,
		theirs:      found.routes,
		clusterName: cfg.ClusterName,
		listings:    inflight[[]Route]{callerTimeout: cfg.CallerTimeout, exclusive: true},
		changes:     changes{gateway: g, timeout: cfg.ChangeTimeout, again: true},
	}
	if found.applier != nil {
		r.together = newRouteChanges(r, found.applier)
	}
	return r
}

var errNilRoute = errors.New("the provider listed a route that is nil")

// List returns the routes that, according to the provider, belong to this cluster.
// While a call of List is under way, a second call fails with an error of the kind
// Slow.
func (r *Routes) List(ctx context.Context) ([]Route, error) {
	c := call{method: "ListRoutes", priority: highPriority}
	return r.listings.ask(ctx, c, "", func(ctx context.Context, c call) ([]Route, error) {
		return read(ctx, r.gateway, c, func(ctx context.Context) ([]Route, error) {
			theirs, err := r.theirs.ListRoutes(ctx, r.clusterName)
			if err == nil {
				// A list that comes after the deadline may be incomplete.
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			return fromRoutes(theirs)
		})
	})
}

// Create creates the route. The provider may use the hint when it names the route.
func (r *Routes) Create(ctx context.Context, hint string, route Route) error {
	c := call{method: "CreateRoute", priority: highPriority, names: namesOfRoute(route), node: route.Node}
	return r.change(ctx, &routeChange{call: c, hint: hint, route: route}, func(ctx context.Context) error {
		return r.theirs.CreateRoute(ctx, r.clusterName, hint, route.toProvider())
	})
}

// Delete deletes a route that was listed.
func (r *Routes) Delete(ctx context.Context, route Route) error {
	c := call{method: "DeleteRoute", priority: highPriority, names: namesOfRoute(route), node: route.Node}
	return r.change(ctx, &routeChange{call: c, route: route}, func(ctx context.Context) error {
		return r.theirs.DeleteRoute(ctx, r.clusterName, route.toProvider())
	})
}

// change makes the change together with others if the provider offers calls about many
// routes. Otherwise, or if the shared call says nothing about this route, it calls the
// function in its last parameter, which makes a call about this route only.
func (r *Routes) change(ctx context.Context, w *routeChange, alone func(context.Context) error) error {
	if r.together != nil && !r.together.oneByOne() {
		if notMade, err := r.together.make(ctx, w); !notMade {
			return err
		}
	}
	return r.changes.change(ctx, w.call, w.route.CIDR, alone)
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

// toProvider makes a new object for each call, because a provider might keep it.
func (r Route) toProvider() *cloudprovider.Route {
	return &cloudprovider.Route{
		Name: r.Name, TargetNode: types.NodeName(r.Node), DestinationCIDR: r.CIDR, Blackhole: r.Blackhole,
		TargetNodeAddresses: slices.Clone(r.Addresses), EnableNodeAddresses: r.Addressed,
	}
}

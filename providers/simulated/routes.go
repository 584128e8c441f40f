package simulated

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// TagNode is the tag with the name of the Node for which a route was created.
const TagNode = "fairlead.dev/node"

// routes manages the routes of a cluster. All clusters in an account share one
// route table. routes keeps nothing in memory and is safe for concurrent use,
// even for the same route.
//
// A route's name is computed from the cluster, the instance and the destination,
// and names are unique in the cloud. The creation of a route is repeated if a
// reply was lost or a list lags behind. The repeated creation finds the existing
// route, and does not create a second one.
type routes struct{ cloud *Cloud }

var _ cloudprovider.Routes = (*routes)(nil)

// ListRoutes implements cloudprovider.Routes. It lists the routes with the tag of
// the cluster. It also lists the routes without the tag of any cluster, because
// the controller must not create routes that conflict with them. It skips routes
// of other clusters.
//
// The field TargetNode of a route is the value of its tag TagNode. Without this tag, it is
// the name of the target instance. If that instance does not exist, TargetNode is empty.
func (r *routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	all, err := r.list(ctx, cluster)
	if err != nil {
		return nil, err
	}
	listed := make([]*cloudprovider.Route, len(all))
	for n := range all {
		listed[n] = &all[n].shown
	}
	return listed, nil
}

// listedRoute is a route of the cloud, together with the route that the provider
// returns for it.
type listedRoute struct {
	simulator.Route

	shown cloudprovider.Route
}

func (r *routes) list(ctx context.Context, cluster string) ([]listedRoute, error) {
	all, err := ask(ctx, r.cloud, func(ctx context.Context, client *simulator.Client) ([]simulator.Route, error) {
		return client.Routes(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	all = slices.DeleteFunc(all, func(route simulator.Route) bool {
		owner, owned := route.Tags[TagCluster]
		return owned && owner != cluster
	})
	names, err := r.targetNames(ctx, all)
	if err != nil {
		return nil, err
	}
	listed := make([]listedRoute, len(all))
	for n, route := range all {
		listed[n] = listedRoute{Route: route, shown: cloudprovider.Route{
			Name:                route.ID,
			TargetNode:          types.NodeName(names[route.Target]),
			EnableNodeAddresses: r.cloud.connection().config.RouteAddresses,
			DestinationCIDR:     route.Destination,
			Blackhole:           route.State == simulator.RouteBlackhole,
		}}
		if node, made := route.Tags[TagNode]; made {
			listed[n].shown.TargetNode = types.NodeName(node)
		}
		if r.cloud.connection().config.RouteAddresses {
			listed[n].shown.TargetNodeAddresses = nodeAddresses(route.TargetAddresses)
		}
	}
	return listed, nil
}

// targetNames returns the names of target instances, by ID. It leaves out the targets of
// routes with the tag TagNode, whose names are not needed.
func (r *routes) targetNames(ctx context.Context, all []simulator.Route) (map[string]string, error) {
	var ids []string
	for _, route := range all {
		if _, made := route.Tags[TagNode]; !made && route.Target != "" {
			ids = append(ids, route.Target)
		}
	}
	slices.Sort(ids)
	names := map[string]string{}
	for some := range slices.Chunk(slices.Compact(ids), r.cloud.connection().config.page()) {
		found, err := r.cloud.findInstances(ctx, simulator.Query{IDs: some})
		if err != nil {
			return nil, fmt.Errorf("targets of routes: %w", err)
		}
		for _, i := range found {
			names[i.ID] = i.Name
		}
	}
	return names, nil
}

// CreateRoute implements cloudprovider.Routes. It does nothing if the route
// exists. It ignores the name hint, because a second call for the same route may
// have another hint.
func (r *routes) CreateRoute(ctx context.Context, cluster, _ string, route *cloudprovider.Route) error {
	wanted, err := r.wanted(cluster, route)
	if err != nil {
		return err
	}
	created, err := r.cloud.changeRoute(ctx, simulator.RouteChange{Create: &wanted})
	switch {
	case simulator.IsAlreadyExists(err):
		return r.checkExisting(ctx, wanted)
	case err != nil:
		return fmt.Errorf("create route for %s to %s: %w", wanted.Destination, route.TargetNode, targetError(wanted, err))
	}
	klog.FromContext(ctx).Info("Route created", "route", created.ID, "name", created.Name, "destination", created.Destination, "node", route.TargetNode)
	return nil
}

// wanted returns the route that is to be created in the cloud. The cloud finds the
// target by its name, so a route costs one call. The cloud also appends the target's
// ID to the name of the route. So a route to an earlier instance with the same name
// is a different route.
func (r *routes) wanted(cluster string, route *cloudprovider.Route) (simulator.Route, error) {
	var none simulator.Route
	destination, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return none, kit.Invalidf("destination %q is not a range such as 10.244.1.0/24", route.DestinationCIDR)
	}
	if route.TargetNode == "" {
		return none, kit.Invalidf("the route for %s has no target node", destination)
	}
	wanted := simulator.Route{
		Destination: destination.Masked().String(),
		TargetName:  string(route.TargetNode),
		Tags:        map[string]string{TagCluster: cluster, TagNode: string(route.TargetNode)},
	}
	wanted.Name = uniqueName(wanted.TargetName, simulator.MaxRouteName-roomForID, cluster, wanted.TargetName, wanted.Destination)
	if r.cloud.connection().config.RouteAddresses {
		for _, a := range route.TargetNodeAddresses {
			wanted.TargetAddresses = append(wanted.TargetAddresses, simulator.Address{Type: simulator.AddressType(a.Type), Address: a.Address})
		}
	}
	return wanted, nil
}

// roomForID is the maximum number of bytes that the cloud appends to the name
// of a route.
const roomForID = 20

// targetError converts the error of a creation: if no instance has the name of the
// Node, it returns InstanceNotFound, as the contract requires.
func targetError(wanted simulator.Route, err error) error {
	var refused *simulator.APIError
	if errors.As(err, &refused) && refused.Code == simulator.CodeTargetNotFound {
		return fmt.Errorf("instance named %s: %w", wanted.TargetName, cloudprovider.InstanceNotFound)
	}
	return err
}

// checkExisting returns an error if the existing route with the wanted name is
// not the wanted route.
func (r *routes) checkExisting(ctx context.Context, wanted simulator.Route) error {
	target, err := r.cloud.machines().Find(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: wanted.TargetName}})
	if err != nil {
		return fmt.Errorf("target of the route for %s: %w", wanted.Destination, err)
	}
	wanted.Name, wanted.Target = wanted.Name+"-"+target.ID, target.ID
	found, err := ask(ctx, r.cloud, func(ctx context.Context, client *simulator.Client) ([]simulator.Route, error) {
		return client.FindRoutes(ctx, simulator.Query{Names: []string{wanted.Name}})
	})
	if err != nil {
		return fmt.Errorf("route %s exists: %w", wanted.Name, err)
	}
	if len(found) == 0 {
		return kit.Pending(pendingPause, "route %s exists, but the cloud does not show it yet", wanted.Name)
	}
	is := found[0]
	if err := checkOwner("route "+is.ID+" has the name "+is.Name, is.Tags, wanted.Tags); err != nil {
		return err
	}
	switch {
	case is.Destination != wanted.Destination || is.Target != wanted.Target:
		return kit.Invalidf("route %s has the name %s, but leads %s to %s; delete it", is.ID, is.Name, is.Destination, is.Target)
	case r.cloud.connection().config.RouteAddresses && !slices.Equal(is.TargetAddresses, wanted.TargetAddresses):
		return fmt.Errorf("route %s (%s) has other addresses of its target; it has to be deleted first", is.ID, is.Name)
	}
	return nil
}

// DeleteRoute implements cloudprovider.Routes. It deletes the route by its name,
// which is its ID in the cloud. If the name is empty, it deletes the cluster's
// routes with the same destination and target. If no route matches, it returns nil.
func (r *routes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	ids := []string{route.Name}
	if route.Name == "" {
		found, err := r.alike(ctx, cluster, route)
		if err != nil {
			return err
		}
		ids = found
	}
	for _, id := range ids {
		if _, err := r.cloud.changeRoute(ctx, simulator.RouteChange{Delete: id}); err != nil {
			return fmt.Errorf("delete route %s: %w", id, err)
		}
		klog.FromContext(ctx).Info("Route deleted", "route", id, "destination", route.DestinationCIDR, "node", route.TargetNode)
	}
	return nil
}

// alike returns the IDs of the cluster's routes with the same destination and
// target.
func (r *routes) alike(ctx context.Context, cluster string, route *cloudprovider.Route) ([]string, error) {
	all, err := r.list(ctx, cluster)
	if err != nil {
		return nil, err
	}
	destination := route.DestinationCIDR
	if prefix, err := netip.ParsePrefix(destination); err == nil {
		destination = prefix.Masked().String() // in the cloud's notation
	}
	var ids []string
	for _, is := range all {
		if is.Tags[TagCluster] == cluster && is.shown.TargetNode == route.TargetNode && is.Destination == destination {
			ids = append(ids, is.ID)
		}
	}
	return ids, nil
}

var _ provider.RouteApplier = (*routes)(nil)

// MaxRouteChanges implements provider.RouteApplier.
func (r *routes) MaxRouteChanges() int { return simulator.MaxRouteChanges }

// ApplyRoutes implements provider.RouteApplier with one call to the cloud. Each
// route without a name, and each route that already exists, needs more calls.
func (r *routes) ApplyRoutes(ctx context.Context, cluster string, changes []provider.RouteChange) ([]provider.RouteResult, error) {
	var results []provider.RouteResult
	var asked []int // indexes of the changes that are sent to the cloud
	var wanted []simulator.RouteChange
	for n, change := range changes {
		w, err := r.change(cluster, change)
		switch {
		case err != nil:
			results = append(results, provider.RouteResult{Change: n, Err: err})
		case w == (simulator.RouteChange{}): // DeleteRoute finds a route without a name.
			results = append(results, provider.RouteResult{Change: n, Err: r.DeleteRoute(ctx, cluster, change.Delete)})
		default:
			asked, wanted = append(asked, n), append(wanted, w)
		}
	}
	if len(wanted) == 0 {
		return results, nil
	}
	answers, err := r.cloud.changeRoutes(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for n, answer := range answers {
		err := answer.Err
		if create := wanted[n].Create; simulator.IsAlreadyExists(err) {
			err = r.checkExisting(ctx, *create)
		} else if create != nil {
			err = targetError(*create, err)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", describe(changes[asked[n]]), err)
		}
		results = append(results, provider.RouteResult{Change: asked[n], Err: err})
	}
	klog.FromContext(ctx).Info("Routes changed", "changes", len(wanted))
	return results, nil
}

// change returns the change to send to the cloud. For the deletion of a route without
// a name, it returns the zero value.
func (r *routes) change(cluster string, change provider.RouteChange) (simulator.RouteChange, error) {
	if change.Create == nil {
		return simulator.RouteChange{Delete: change.Delete.Name}, nil
	}
	wanted, err := r.wanted(cluster, change.Create)
	return simulator.RouteChange{Create: &wanted}, err
}

// describe returns a description of the change, for the text of an error.
func describe(change provider.RouteChange) string {
	verb, route := "create", change.Create
	if route == nil {
		verb, route = "delete", change.Delete
	}
	return fmt.Sprintf("%s route for %s to %s", verb, route.DestinationCIDR, route.TargetNode)
}

// changeRoute makes one change. Deleting a route that does not exist is a
// success.
func (c *Cloud) changeRoute(ctx context.Context, wanted simulator.RouteChange) (simulator.Route, error) {
	return ask(ctx, c, func(ctx context.Context, client *simulator.Client) (simulator.Route, error) {
		if wanted.Create != nil {
			return client.CreateRoute(ctx, *wanted.Create)
		}
		return simulator.Route{}, unlessGone(client.DeleteRoute(ctx, wanted.Delete))
	})
}

// changeRoutes makes several changes in one call, each as changeRoute does.
func (c *Cloud) changeRoutes(ctx context.Context, wanted []simulator.RouteChange) ([]simulator.RouteOutcome, error) {
	outcomes, err := ask(ctx, c, func(ctx context.Context, client *simulator.Client) ([]simulator.RouteOutcome, error) {
		return client.ChangeRoutes(ctx, wanted)
	})
	if err != nil {
		return nil, fmt.Errorf("%d changes of routes: %w", len(wanted), err)
	}
	for n := range outcomes {
		if wanted[n].Create == nil {
			outcomes[n].Err = unlessGone(outcomes[n].Err)
		}
	}
	return outcomes, nil
}

// unlessGone returns the error of a deletion, or nil if the error says that the
// route does not exist.
func unlessGone(err error) error {
	if simulator.IsNotFound(err) {
		return nil
	}
	return err
}

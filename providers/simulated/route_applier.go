package simulated

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

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
		err := answer.err
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

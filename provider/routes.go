package provider

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// RouteApplier is a cloudprovider.Routes that creates and deletes many routes with
// one call to the cloud. Calls that change the same destination never overlap, and
// no two changes of a call have the same destination. If a call fails as a whole,
// the daemon makes the changes one by one, because a single route may have caused
// the error.
//
// Without it, CreateRoute and DeleteRoute are called for each route.
type RouteApplier interface {
	// ApplyRoutes carries out the changes in any order and returns a result for each
	// of them. If one change fails, the others are still made. If the whole call
	// fails, ApplyRoutes returns an error and no results. If a change has no result,
	// or two different results, the daemon makes that change alone, with CreateRoute
	// or DeleteRoute. ApplyRoutes can therefore return an incomplete list of results
	// when ctx ends. Making a change a second time must succeed, as with CreateRoute
	// and DeleteRoute. The changes are copies, so ApplyRoutes may keep them.
	ApplyRoutes(ctx context.Context, clusterName string, changes []RouteChange) ([]RouteResult, error)
	// MaxRouteChanges is the largest number of changes for one call. It must be
	// positive and constant.
	MaxRouteChanges() int
}

// RouteChange is the creation or the deletion of one route. Exactly one of Create
// and Delete is set.
type RouteChange struct {
	// Create is the route to create, as CreateRoute gets it.
	Create *cloudprovider.Route
	// NameHint is the hint that CreateRoute gets. It is empty for a deletion.
	NameHint string
	// Delete is the route to delete, as ListRoutes has returned it.
	Delete *cloudprovider.Route
}

// RouteResult is the result of one RouteChange.
type RouteResult struct {
	// Change is the index of the change in the call.
	Change int
	// Err is what CreateRoute or DeleteRoute would have returned.
	Err error
}

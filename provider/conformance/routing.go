package conformance

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// routing has the helpers of all checks of routes.
type routing struct {
	*trial

	cluster string
	kept    []string               // the destinations of the routes that may exist
	before  []*cloudprovider.Route // the list before the first route was created
}

// routed turns a function that works with routes into a check.
func routed(f func(*routing)) func(*trial) {
	return func(t *trial) {
		t.routes()
		f(&routing{trial: t, cluster: t.cluster})
	}
}

// route returns a route as the daemon passes it to CreateRoute.
func route(m Machine, destination string) *cloudprovider.Route {
	return &cloudprovider.Route{TargetNode: types.NodeName(m.Name), TargetNodeAddresses: m.Addresses, DestinationCIDR: destination}
}

// hint returns a name hint for CreateRoute. All routes to a node have the same hint.
func hint(wanted *cloudprovider.Route) string { return "hint-" + string(wanted.TargetNode) }

// create calls CreateRoute once.
func (r *routing) create(wanted *cloudprovider.Route) error {
	given := *wanted
	return r.routes().CreateRoute(r.ctx, r.cluster, hint(wanted), &given)
}

// tried calls create, and repeats the call while the error means that it may succeed
// later.
func (r *routing) tried(wanted *cloudprovider.Route) error {
	r.keep(wanted)
	return r.repeated(func() error { return r.create(wanted) })
}

// created calls tried. An error fails the check.
func (r *routing) created(wanted *cloudprovider.Route) {
	if err := r.tried(wanted); err != nil {
		r.failf("%s = %v; want nil", r.call("CreateRoute", wanted), err)
	}
}

// listed calls created, and returns the route as ListRoutes has it.
func (r *routing) listed(wanted *cloudprovider.Route) *cloudprovider.Route {
	r.created(wanted)
	return r.only("after "+r.call("CreateRoute", wanted)+" = nil", wanted)
}

// keep makes the suite delete all routes of the cluster with this destination after the
// check.
func (r *routing) keep(wanted *cloudprovider.Route) {
	r.free(wanted)
	r.kept = append(r.kept, wanted.DestinationCIDR)
	if len(r.kept) == 1 {
		r.cleanup("delete the routes of cluster "+r.cluster, r.deleteKept)
	}
}

// free ends the check if somebody else has a route to the same addresses. Otherwise the
// check would delete that route or take its traffic. The method first waits for a while,
// because the cloud may still list a route that an earlier check has deleted.
func (r *routing) free(wanted *cloudprovider.Route) {
	if len(r.kept) == 0 {
		r.before = r.list()
	}
	taken := func() *cloudprovider.Route {
		for _, is := range r.before {
			if overlap(is.DestinationCIDR, wanted.DestinationCIDR) {
				return is
			}
		}
		return nil
	}
	if taken() == nil {
		return
	}
	err := r.await(func() error {
		r.before = r.list()
		if is := taken(); is != nil {
			return fmt.Errorf("needs the addresses %s, but they overlap with %s, which was not changed", wanted.DestinationCIDR, showRoute(is))
		}
		return nil
	})
	if err != nil {
		r.notRunf("%v", err)
	}
}

// overlap reports whether two ranges have common addresses. A default route contains
// all addresses, but it counts as overlapping only with the same default route.
func overlap(a, b string) bool {
	x, err1 := netip.ParsePrefix(a)
	y, err2 := netip.ParsePrefix(b)
	return a == b || err1 == nil && err2 == nil && x.Bits() > 0 && y.Bits() > 0 && x.Masked().Overlaps(y.Masked())
}

// sameCIDR reports whether two texts mean the same range, in any notation.
func sameCIDR(a, b string) bool {
	x, err1 := netip.ParsePrefix(a)
	y, err2 := netip.ParsePrefix(b)
	return a == b || err1 == nil && err2 == nil && x.Masked() == y.Masked()
}

func (r *routing) deleteKept(ctx context.Context) error {
	all, err := r.routes().ListRoutes(ctx, r.cluster)
	if err != nil {
		return err
	}
	for _, is := range all {
		if is == nil || !slices.ContainsFunc(r.kept, func(kept string) bool { return sameCIDR(kept, is.DestinationCIDR) }) {
			continue
		}
		if err := r.remove(ctx, is); err != nil {
			return err
		}
	}
	return nil
}

// remove calls DeleteRoute with a route that ListRoutes has returned. It repeats
// the call while the error means that the call may succeed later.
func (r *routing) remove(ctx context.Context, is *cloudprovider.Route) error {
	return r.repeated(func() error { return r.routes().DeleteRoute(ctx, r.cluster, is) })
}

// deleted calls remove. An error fails the check.
func (r *routing) deleted(is *cloudprovider.Route) {
	if err := r.remove(r.ctx, is); err != nil {
		r.failf("%s = %v; want nil", r.call("DeleteRoute", is), err)
	}
}

// list calls ListRoutes.
func (r *routing) list() []*cloudprovider.Route {
	var all []*cloudprovider.Route
	err := r.repeated(func() (err error) {
		all, err = r.routes().ListRoutes(r.ctx, r.cluster)
		return err
	})
	if err != nil || slices.Contains(all, nil) {
		r.failf("ListRoutes(cluster %q) = %s, %v; want the routes, nil", r.cluster, routesText(all), shown(err))
	}
	return all
}

// to returns the listed routes for a destination.
func (r *routing) to(destination string) []*cloudprovider.Route {
	return slices.DeleteFunc(slices.Clone(r.list()), func(is *cloudprovider.Route) bool { return !sameCIDR(is.DestinationCIDR, destination) })
}

// count waits until there is the wanted number of routes for the destination, and returns
// them.
func (r *routing) count(want int, when string, wanted *cloudprovider.Route) (found []*cloudprovider.Route) {
	r.eventually(func() error {
		found = r.to(wanted.DestinationCIDR)
		if len(found) != want {
			return fmt.Errorf("ListRoutes(cluster %q) has %d routes for %s %s: %s; want %d", r.cluster, len(found), wanted.DestinationCIDR, when, routesText(found), want)
		}
		return nil
	})
	return found
}

// only waits until there is exactly one route for the destination, and returns it.
func (r *routing) only(when string, wanted *cloudprovider.Route) *cloudprovider.Route {
	return r.count(1, when, wanted)[0]
}

// none waits until there is no route for the destination.
func (r *routing) none(when string, wanted *cloudprovider.Route) { r.count(0, when, wanted) }

func (r *routing) call(method string, about *cloudprovider.Route) string {
	return fmt.Sprintf("%s(cluster %q, %s)", method, r.cluster, showRoute(about))
}

func showRoute(r *cloudprovider.Route) string {
	if r == nil {
		return "nil"
	}
	text := fmt.Sprintf("route %q for %s to node %q", r.Name, r.DestinationCIDR, r.TargetNode)
	if r.Blackhole {
		text += ", a blackhole"
	}
	return text
}

func routesText(all []*cloudprovider.Route) string { return "[" + joinedTexts(all, showRoute) + "]" }

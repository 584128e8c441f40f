package conformance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// The parts of the contract that the checks of routes cite, and the costs of a failure.
const (
	sourceListRoutes  = "Routes.ListRoutes: lists all managed routes that belong to the specified clusterName"
	sourceCreateRoute = "Routes.CreateRoute: creates the described managed route"
	sourceDeleteRoute = "Routes.DeleteRoute: deletes the specified managed route, as returned by ListRoutes"
	sourceBlackhole   = "Route.Blackhole: true if this is a blackhole route; such a route is deleted"
	costPods          = "Pods of the node cannot be reached from other nodes."
	costRepeat        = "The daemon tries to create or delete the route again and again, and gets an error each time."
)

// The destinations are not in 10.244.0.0/16, which many clusters use for pods. Another
// cluster in the same account may use that range, and a provider that lists only its own
// routes would not show the routes of that cluster.
const (
	destination1 = "10.251.1.0/24"
	destination2 = "10.251.2.0/24"
	destination3 = "10.251.3.0/24"
)

// routeChecks are the checks of cloudprovider.Routes.
var routeChecks = []Check{
	{
		ID: "routes/round-trip", Level: Core, Needs: needs(needMachines), Source: sourceListRoutes,
		Title: "A created route is listed with its node, and a deleted route is not listed",
		Cost:  costPods,
		run: routed(func(r *routing) {
			wanted := route(r.member(), destination1)
			is := r.listed(wanted)
			if is.TargetNode != wanted.TargetNode || is.Blackhole {
				r.failf("ListRoutes(cluster %q) has %s after %s = nil; want node %q, and no blackhole", r.cluster, showRoute(is), r.call("CreateRoute", wanted), wanted.TargetNode)
			}
			r.deleted(is)
			r.none("after "+r.call("DeleteRoute", is)+" = nil", wanted)
		}),
	},
	{
		ID: "routes/create-again", Level: Core, Needs: needs(needMachines), Source: sourceCreateRoute,
		Title: "Creating a route a second time succeeds, and creates no second route",
		Cost:  costRepeat,
		run: routed(func(r *routing) {
			wanted := route(r.member(), destination1)
			r.listed(wanted)
			if err := r.tried(wanted); err != nil {
				r.failf("%s = nil the first time and %v the second; want nil", r.call("CreateRoute", wanted), err)
			}
			r.only("after "+r.call("CreateRoute", wanted)+" = nil twice", wanted)
		}),
	},
	{
		ID: "routes/delete-none", Level: Core, Needs: needs(needMachines), Source: sourceDeleteRoute,
		Title: "The deletion of a route that is gone succeeds",
		Cost:  costRepeat,
		run: routed(func(r *routing) {
			wanted := route(r.member(), destination1)
			is := r.listed(wanted)
			r.deleted(is)
			r.none("after DeleteRoute = nil", wanted)
			if err := r.remove(r.ctx, is); err != nil {
				r.failf("%s = nil the first time and %v the second; want nil", r.call("DeleteRoute", is), err)
			}
		}),
	},
	{
		ID: "routes/two-cidrs", Level: Core, Needs: needs(needMachines), Source: sourceDeleteRoute,
		Title: "The deletion of one route keeps the other routes of the node",
		Cost:  costPods,
		run: routed(func(r *routing) {
			m := r.member()
			r.deleteOne(route(m, destination1), route(m, destination2))
		}),
	},
	{
		ID: "routes/name-prefix", Level: Core, Needs: needs(needMachines), Source: sourceDeleteRoute,
		Title: "The deletion of a route of node-1 keeps the routes of node-10",
		Cost:  costPods,
		run: routed(func(r *routing) {
			m := r.members("node-1", "node-10")
			r.deleteOne(route(m[0], destination1), route(m[1], destination2))
		}),
	},
	{
		ID: "routes/live-is-no-blackhole", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceBlackhole,
		Title: "A route to a running machine is no blackhole, even if a list of the cloud is incomplete",
		Cost:  costPods,
		run: routed(func(r *routing) {
			m := r.members("a", "b")
			created, wanted := route(m[0], destination1), route(m[1], destination2)
			r.listed(created)
			r.listed(wanted)
			r.restart()
			err := r.tried(created) // Now the provider may know this machine, and not the other one.
			r.notBlackhole(wanted, fmt.Sprintf("after a restart and %s = %v", r.call("CreateRoute", created), shown(err)))
			for skip := range 3 { // A provider may read other lists before the list of routes.
				for _, kind := range []FaultKind{FaultEmptyList, FaultTruncatedList} {
					r.restart() // it may have kept the lists
					restore := r.fault(Fault{Kind: kind, Skip: skip})
					r.notBlackhole(wanted, fmt.Sprintf("with the fault %s for lists after the first %d", kind, skip))
					restore()
				}
			}
		}),
	},
	{
		ID: "routes/two-clusters", Level: Core, Needs: needs(needMachines), Source: sourceListRoutes,
		Title: "Routes of another cluster are not listed",
		Cost:  "The routes of another cluster are deleted.",
		run: routed(func(r *routing) {
			m := r.member()
			other := &routing{trial: r.trial, cluster: r.cluster + "-2"}
			ours, theirs := route(m, destination1), route(m, destination2)
			r.listed(ours)
			other.listed(theirs)
			r.none("after "+other.call("CreateRoute", theirs)+" = nil", theirs)
			other.none("after "+r.call("CreateRoute", ours)+" = nil", ours)
		}),
	},
	{
		ID: "routes/not-mine", Level: Core, Needs: needs(needMachines, needForeigner), Source: sourceListRoutes,
		Title: "A route that was made by hand stays when routes are created and deleted",
		Cost:  "A route that somebody has made by hand is deleted.",
		run: routed(func(r *routing) {
			unchanged := r.foreign(KindRoute, destination2)
			wanted := route(r.member(), destination1)
			is := r.listed(wanted)
			r.deleted(is)
			r.none("after DeleteRoute = nil", wanted)
			unchanged(r.call("CreateRoute", wanted) + " = nil and " + r.call("DeleteRoute", is) + " = nil")
		}),
	},
	{
		ID: "routes/ipv6", Level: Extended, Needs: needs(needMachines), Source: sourceCreateRoute,
		Title: "A route for an IPv6 range is created, or refused with an error",
		Cost:  costPods,
		run: routed(func(r *routing) {
			wanted := route(r.member(), "2001:db8:1::/64")
			if err := r.tried(wanted); err == nil {
				r.only("after "+r.call("CreateRoute", wanted)+" = nil", wanted)
			}
		}),
	},
	{
		ID: "routes/two-hundred-at-once", Level: Core, Needs: needs(needMachines), Source: sourceCreateRoute,
		Title: "Of 200 routes that are created at the same time, none is lost",
		Cost:  costPods,
		run:   routed((*routing).manyAtOnce),
	},
	{
		ID: "routes/quota", Level: Extended, Needs: needs(needMachines), Source: sourceCreateRoute,
		Title: "If the route table is full, the error has the kind QuotaExceeded",
		Cost:  "Events do not show the cause, and the daemon tries to create the route again and again.",
		run: routed(func(r *routing) {
			most := r.target.MaxRoutes
			if most == 0 {
				r.notRunf("needs Target.MaxRoutes, the cloud's limit of routes")
			}
			m := r.member()
			for i := range most {
				r.created(route(m, fmt.Sprintf("10.%d.%d.0/24", 100+i/256, i%256)))
			}
			wanted := route(m, destination1)
			err := r.tried(wanted)
			if kind := r.kind(err); kind != provider.QuotaExceeded {
				r.failf("%s = %v, an error of kind %q, and the cloud has %d routes and allows no more; want kind %s", r.call("CreateRoute", wanted), shown(err), kind, most, provider.QuotaExceeded)
			}
		}),
	},
	{
		ID: "routes/gone-target", Level: Core, Needs: needs(needMachines), Source: sourceBlackhole,
		Title: "A route to a machine that was terminated can still be deleted",
		Cost:  "Packets for pods go to a machine that is gone.",
		run: routed(func(r *routing) {
			m := r.member()
			wanted := route(m, destination1)
			r.listed(wanted)
			r.terminate(m)
			r.eventually(func() error {
				for _, is := range r.to(wanted.DestinationCIDR) { // Some clouds delete the route with the machine.
					r.deleted(is)
				}
				if left := r.to(wanted.DestinationCIDR); len(left) > 0 {
					return fmt.Errorf("ListRoutes(cluster %q) has %s after its machine was terminated and DeleteRoute = nil; want no route", r.cluster, routesText(left))
				}
				return nil
			})
		}),
	},
}

// deleteOne creates two routes, deletes the first one, and requires that the second one
// stays.
func (r *routing) deleteOne(first, second *cloudprovider.Route) {
	is := r.listed(first)
	r.listed(second)
	r.deleted(is)
	when := "after " + r.call("DeleteRoute", is) + " = nil"
	r.none(when, first)
	r.only(when, second)
}

// notBlackhole requires that the route is no blackhole. It accepts an error.
func (r *routing) notBlackhole(wanted *cloudprovider.Route, when string) {
	all, err := r.routes().ListRoutes(r.ctx, r.cluster)
	for _, is := range all {
		if err == nil && is != nil && sameCIDR(is.DestinationCIDR, wanted.DestinationCIDR) && is.Blackhole {
			r.failf("ListRoutes(cluster %q) = %s, nil, %s, and the machine runs; want an error, or no blackhole", r.cluster, routesText(all), when)
		}
	}
}

func (r *routing) manyAtOnce() {
	const n = 200
	machines := r.members(roles(3)...)
	wanted := make([]*cloudprovider.Route, n)
	for i := range wanted {
		wanted[i] = route(machines[i%len(machines)], fmt.Sprintf("10.200.%d.0/24", i))
		r.keep(wanted[i])
	}
	for i, err := range r.together(n, n, "CreateRoute", func(i int) error { return r.create(wanted[i]) }) {
		if err != nil {
			r.failf("%s = %v, with %d other routes at the same time; want nil", r.call("CreateRoute", wanted[i]), err, n-1)
		}
	}
	r.eventually(func() error {
		listed := map[string]types.NodeName{}
		for _, is := range r.list() {
			listed[is.DestinationCIDR] = is.TargetNode
		}
		for _, w := range wanted {
			if listed[w.DestinationCIDR] != w.TargetNode {
				return fmt.Errorf("ListRoutes(cluster %q) has no %s after CreateRoute = nil for %d routes at the same time", r.cluster, showRoute(w), n)
			}
		}
		return nil
	})
}

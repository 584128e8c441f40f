package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// routing holds a provider's routes and their cloud, which has the instances
// node-1 to node-3.
type routing struct {
	fixture

	routes cloudprovider.Routes
}

func newRouting(t *testing.T, config simulator.Config, lines ...string) routing {
	t.Helper()
	f := newFixture(t, config, lines...)
	for n := range 3 {
		f.create(t, simulator.Instance{Name: fmt.Sprintf("node-%d", n+1)})
	}
	routes, ok := f.cloud.Routes()
	if !ok {
		t.Fatal("no Routes")
	}
	return routing{f, routes}
}

// toNode returns a route as a route controller requests it.
func toNode(n int, destination string) *cloudprovider.Route {
	return &cloudprovider.Route{
		TargetNode: types.NodeName(fmt.Sprintf("node-%d", n)), DestinationCIDR: destination,
		TargetNodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", n)}},
	}
}

func (r routing) make(t *testing.T, n int, destination string) {
	t.Helper()
	if err := r.routes.CreateRoute(t.Context(), cluster, "hint", toNode(n, destination)); err != nil {
		t.Fatal(err)
	}
}

// plant creates a route as another owner would.
func (r routing) plant(t *testing.T, route simulator.Route) simulator.Route {
	t.Helper()
	planted, err := r.operator.CreateRoute(t.Context(), route)
	if err != nil {
		t.Fatal(err)
	}
	return planted
}

func (r routing) list(t *testing.T) []*cloudprovider.Route {
	t.Helper()
	all, err := r.routes.ListRoutes(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// table lists the routes in the cloud's table, one line each.
func (r routing) table(t *testing.T) []string {
	t.Helper()
	all, err := r.operator.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, route := range all {
		lines = append(lines, fmt.Sprintf("%s %s->%s", route.ID, route.Destination, route.Target))
	}
	return lines
}

func TestRouteLife(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	diff(t, "an empty table", []*cloudprovider.Route{}, r.list(t))
	wanted := toNode(1, "10.244.1.0/24")
	before := *wanted
	diff(t, "create", nil, r.routes.CreateRoute(t.Context(), cluster, "hint", wanted))
	diff(t, "create again, with another hint", nil, r.routes.CreateRoute(t.Context(), cluster, "other", wanted))
	diff(t, "the argument is not changed", before, *wanted)
	all, err := r.operator.Routes(t.Context())
	diff(t, "error", nil, err)
	diff(t, "routes", 1, len(all))
	all[0].Created = time.Time{}
	diff(t, "the route", simulator.Route{
		ID: "rt-00000001", Name: "node-1-a39aa2897f-i-00000001", Destination: "10.244.1.0/24", Target: "i-00000001", State: simulator.RouteActive,
		Tags: map[string]string{TagCluster: cluster, TagNode: "node-1"},
	}, all[0])
	listed := []*cloudprovider.Route{{Name: "rt-00000001", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"}}
	diff(t, "listed", listed, r.list(t))
	diff(t, "delete", nil, r.routes.DeleteRoute(t.Context(), cluster, r.list(t)[0]))
	diff(t, "delete again", nil, r.routes.DeleteRoute(t.Context(), cluster, listed[0]))
	diff(t, "left", []string{}, r.table(t))
}

func TestRouteIsRefused(t *testing.T) {
	r := newRouting(t, simulator.Config{MaxRoutes: 1})
	r.create(t, simulator.Instance{Name: "twin"})
	r.create(t, simulator.Instance{Name: "twin"})
	r.make(t, 1, "10.244.1.0/24")
	to := func(node types.NodeName, destination string) *cloudprovider.Route {
		return &cloudprovider.Route{TargetNode: node, DestinationCIDR: destination}
	}
	for name, row := range map[string]struct {
		route *cloudprovider.Route
		want  string
		kind  provider.ErrorKind
	}{
		"NoRange":   {to("node-1", "10.244.1.0"), `destination "10.244.1.0" is not a range such as 10.244.1.0/24`, provider.Invalid},
		"NameOfOne": {to("node-1", "pl-00000001"), `destination "pl-00000001" is not a range such as 10.244.1.0/24`, provider.Invalid},
		"NoNode":    {to("", "10.244.2.0/24"), "the route for 10.244.2.0/24 has no target node", provider.Invalid},
		"NoTarget":  {to("node-9", "10.244.2.0/24"), "create route for 10.244.2.0/24 to node-9: instance named node-9: instance not found", provider.Unclassified},
		"TwoOfThem": {to("twin", "10.244.2.0/24"), "create route for 10.244.2.0/24 to twin: the cloud answered 400 Invalid: targetName: 2 instances are named twin: i-00000004, i-00000005", provider.Invalid},
		"Quota":     {to("node-1", "10.244.2.0/24"), "create route for 10.244.2.0/24 to node-1: the cloud answered 409 QuotaExceeded: the route table has 1 routes, and its quota is 1", provider.QuotaExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.routes.CreateRoute(t.Context(), cluster, "hint", row.route)
			diff(t, "error", row.want, text(err))
			diff(t, "kind", row.kind, r.cloud.ClassifyError(err).Kind)
			diff(t, "not found", name == "NoTarget", errors.Is(err, cloudprovider.InstanceNotFound))
			diff(t, "table", 1, len(r.table(t)))
		})
	}
	t.Run("WhatExistsNeedsNoQuota", func(t *testing.T) { r.make(t, 1, "10.244.1.7/24") })
}

// The list shows every route in the table, except for the routes of other
// clusters.
func TestWhatIsListed(t *testing.T) {
	r := newRouting(t, simulator.Config{PageSize: 2, TerminatedFor: time.Hour}, "pageSize: 2")
	ours := map[string]string{TagCluster: cluster}
	r.make(t, 1, "10.244.1.0/24")
	r.make(t, 2, "10.244.2.0/24")
	r.make(t, 1, "fd00:0:0:1::/64")
	for _, planted := range []simulator.Route{
		{Name: "untagged", Destination: "10.244.1.0/24", Target: "i-00000001"},
		{Name: "tagged", Destination: "10.244.3.0/24", Target: "i-00000003", Tags: ours},
		{Name: "stopped", Destination: "10.244.4.0/24", Target: "i-00000002"},
		{Name: "gateway", Destination: "0.0.0.0/0"},
		{Name: "drop", Destination: "10.244.9.0/24", State: simulator.RouteBlackhole, Tags: ours},
		{Name: "wider", Destination: "10.244.0.0/15", Tags: map[string]string{"owner": "me"}},
		{Name: "unparsable", Destination: "pl-00000001"},
		{Name: "other-cluster", Destination: "10.244.7.0/24", Target: "i-00000001", Tags: map[string]string{TagCluster: "other"}},
	} {
		r.plant(t, planted)
	}
	diff(t, "error", nil, r.operator.StopInstance(t.Context(), "i-00000002"))
	diff(t, "error", nil, r.operator.TerminateInstance(t.Context(), "i-00000003"))
	diff(t, "listed", []*cloudprovider.Route{
		{Name: "rt-00000001", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"},
		{Name: "rt-00000002", TargetNode: "node-2", DestinationCIDR: "10.244.2.0/24", Blackhole: true},
		{Name: "rt-00000003", TargetNode: "node-1", DestinationCIDR: "fd00:0:0:1::/64"},
		{Name: "rt-00000004", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"},
		{Name: "rt-00000005", TargetNode: "node-3", DestinationCIDR: "10.244.3.0/24", Blackhole: true},
		{Name: "rt-00000006", TargetNode: "node-2", DestinationCIDR: "10.244.4.0/24", Blackhole: true},
		{Name: "rt-00000007", DestinationCIDR: "0.0.0.0/0"},
		{Name: "rt-00000008", DestinationCIDR: "10.244.9.0/24", Blackhole: true},
		{Name: "rt-00000009", DestinationCIDR: "10.244.0.0/15"},
		{Name: "rt-00000010", DestinationCIDR: "pl-00000001"},
	}, r.list(t))
}

// The list names the Node of a route that the provider has created, even if the
// instance is gone or the list of instances lacks it.
func TestTheTargetOfOursIsNeverForgotten(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.make(t, 1, "10.244.1.0/24")
	foreign := r.plant(t, simulator.Route{Name: "foreign", Destination: "10.244.2.0/24", Target: "i-00000001"})
	r.set(t, simulator.Fault{Kind: simulator.FaultEmptyList, Calls: []simulator.Call{simulator.ListInstances}})
	want := []*cloudprovider.Route{
		{Name: "rt-00000001", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"},
		{Name: foreign.ID, DestinationCIDR: "10.244.2.0/24"},
	}
	diff(t, "no instance is listed", want, r.list(t))
	diff(t, "error", nil, r.operator.ClearFaults(t.Context()))
	terminated(t, r.fixture)
	want[0].Blackhole, want[1].Blackhole = true, true
	diff(t, "the instance is gone", want, r.list(t))
}

func TestListCosts(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	for n := range 20 {
		r.make(t, 1, fmt.Sprintf("10.244.%d.0/24", n))
	}
	diff(t, "error", nil, r.operator.ResetCalls(t.Context()))
	r.list(t)
	report, err := r.operator.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "calls", []simulator.CallCounter{{Call: simulator.ListRoutes, Result: simulator.ResultOK, Count: 1}}, report.Counters)
}

func TestRouteAddresses(t *testing.T) {
	r := newRouting(t, simulator.Config{}, "routeAddresses: true")
	wanted := toNode(1, "10.244.1.0/24")
	diff(t, "create", nil, r.routes.CreateRoute(t.Context(), cluster, "hint", wanted))
	diff(t, "create again", nil, r.routes.CreateRoute(t.Context(), cluster, "hint", wanted))
	want := []*cloudprovider.Route{{
		Name: "rt-00000001", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24",
		EnableNodeAddresses: true, TargetNodeAddresses: wanted.TargetNodeAddresses,
	}}
	diff(t, "listed", want, r.list(t))
	without, err := New(strings.NewReader("endpoint: " + string(r.cloud.connection().config.Endpoint)))
	diff(t, "error", nil, err)
	routes, _ := without.Routes()
	diff(t, "without routeAddresses, addresses are not compared", nil, routes.CreateRoute(t.Context(), cluster, "hint", wanted))
	listed, err := routes.ListRoutes(t.Context(), cluster)
	diff(t, "error", nil, err)
	diff(t, "without routeAddresses, addresses are not listed", []*cloudprovider.Route{{Name: "rt-00000001", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"}}, listed)

	moved := toNode(1, "10.244.1.0/24")
	moved.TargetNodeAddresses[0].Address = "10.0.0.99"
	err = r.routes.CreateRoute(t.Context(), cluster, "hint", moved)
	diff(t, "other addresses", "route rt-00000001 (node-1-a39aa2897f-i-00000001) has other addresses of its target; it has to be deleted first", text(err))
	diff(t, "it is not a permanent error", provider.Unclassified, r.cloud.ClassifyError(err).Kind)
	diff(t, "listed", want, r.list(t))
	diff(t, "delete", nil, r.routes.DeleteRoute(t.Context(), cluster, want[0]))
	diff(t, "create", nil, r.routes.CreateRoute(t.Context(), cluster, "hint", moved))
	want[0].Name, want[0].TargetNodeAddresses = "rt-00000002", moved.TargetNodeAddresses
	diff(t, "listed", want, r.list(t))
}

func TestRoutesOfOthersAreLeftAlone(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.make(t, 1, "10.244.1.0/24")
	diff(t, "another cluster in the same table", nil, r.routes.CreateRoute(t.Context(), "other", "hint", toNode(1, "10.244.1.0/24")))
	diff(t, "each has one", []string{"rt-00000001 10.244.1.0/24->i-00000001", "rt-00000002 10.244.1.0/24->i-00000001"}, r.table(t))
	others, err := r.routes.ListRoutes(t.Context(), "other")
	diff(t, "error", nil, err)
	diff(t, "listed for the other", []*cloudprovider.Route{{Name: "rt-00000002", TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24"}}, others)

	all, err := r.operator.Routes(t.Context())
	diff(t, "error", nil, err)
	diff(t, "error", nil, r.operator.DeleteRoute(t.Context(), "rt-00000001"))
	for name, planted := range map[string]simulator.Route{
		"WithoutTags":    {Name: all[0].Name, Destination: "10.244.1.0/24", Target: "i-00000001"},
		"OfACluster":     {Name: all[0].Name, Destination: "10.244.1.0/24", Target: "i-00000001", Tags: map[string]string{TagCluster: "other", TagNode: "node-1"}},
		"LeadsElsewhere": {Name: all[0].Name, Destination: "10.244.5.0/24", Target: "i-00000001", Tags: all[0].Tags},
	} {
		t.Run(name, func(t *testing.T) {
			foreign := r.plant(t, planted)
			err := r.routes.CreateRoute(t.Context(), cluster, "hint", toNode(1, "10.244.1.0/24"))
			if err == nil || r.cloud.ClassifyError(err).Kind != provider.Invalid || !strings.HasPrefix(err.Error(), "route "+foreign.ID+" has the name "+foreign.Name+", but ") {
				t.Errorf("got %v", err)
			}
			left, err := r.operator.Route(t.Context(), foreign.ID)
			diff(t, "error", nil, err)
			diff(t, "it is left alone", foreign, left)
			diff(t, "error", nil, r.operator.DeleteRoute(t.Context(), foreign.ID))
		})
	}
}

func TestExactlyOneRouteIsDeleted(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.make(t, 1, "10.244.1.0/24")
	r.make(t, 1, "10.244.2.0/24")
	r.make(t, 2, "10.244.3.0/24")
	r.plant(t, simulator.Route{Name: "double", Destination: "10.244.1.0/24", Target: "i-00000001"})
	r.plant(t, simulator.Route{Name: "drop", Destination: "10.244.9.0/24", State: simulator.RouteBlackhole})
	for _, step := range []struct {
		what  string
		route *cloudprovider.Route
		gone  string
	}{
		{"no other destination", toNode(1, "10.244.0.0/16"), ""},
		{"no other target", toNode(2, "10.244.1.0/24"), ""},
		{"without a name, no route without a cluster", &cloudprovider.Route{DestinationCIDR: "10.244.9.0/24"}, ""},
		{"without a name, only the route of this cluster", toNode(1, "10.244.1.9/24"), "rt-00000001"},
		{"by name, also a route of another owner", &cloudprovider.Route{Name: "rt-00000004", DestinationCIDR: "10.244.1.0/24"}, "rt-00000004"},
		{"by the name of a deleted route, no similar route", &cloudprovider.Route{Name: "rt-00000004", TargetNode: "node-1", DestinationCIDR: "10.244.2.0/24"}, ""},
		{"by an unknown name, no similar route", &cloudprovider.Route{Name: "x/../rt-00000002", TargetNode: "node-1", DestinationCIDR: "10.244.2.0/24"}, ""},
	} {
		before := r.table(t)
		diff(t, step.what+": error", nil, r.routes.DeleteRoute(t.Context(), cluster, step.route))
		want := slices.DeleteFunc(before, func(line string) bool { return step.gone != "" && strings.HasPrefix(line, step.gone) })
		diff(t, step.what, want, r.table(t))
	}
	diff(t, "left", []string{"rt-00000002 10.244.2.0/24->i-00000001", "rt-00000003 10.244.3.0/24->i-00000002", "rt-00000005 10.244.9.0/24->"}, r.table(t))
}

var routeWrites = []simulator.Call{simulator.CreateRoute, simulator.DeleteRoute, simulator.ChangeRoutes}

// Each write fails in turn, before or after the cloud carries it out. When the
// step is repeated, it must lead to the same result as without the fault.
func TestRouteCallsOnceMore(t *testing.T) {
	for _, kind := range []simulator.FaultKind{simulator.FaultError, simulator.FaultLostReply, simulator.FaultReset, simulator.FaultOutage} {
		for n := range 2 {
			t.Run(fmt.Sprintf("%s%d", kind, n), func(t *testing.T) {
				r := newRouting(t, simulator.Config{})
				r.set(t, simulator.Fault{Kind: kind, Calls: routeWrites, Skip: n, Count: 1})
				repeat := func(what string, step func(context.Context) error) {
					t.Helper()
					for range 2 {
						err := step(t.Context())
						if err == nil {
							return
						}
						diff(t, what+": kind", provider.Unavailable, r.cloud.ClassifyError(err).Kind)
					}
					t.Fatalf("%s does not succeed", what)
				}
				repeat("create", func(ctx context.Context) error {
					return r.routes.CreateRoute(ctx, cluster, "hint", toNode(1, "10.244.1.0/24"))
				})
				diff(t, "table", []string{"rt-00000001 10.244.1.0/24->i-00000001"}, r.table(t))
				listed := r.list(t)
				repeat("delete", func(ctx context.Context) error { return r.routes.DeleteRoute(ctx, cluster, listed[0]) })
				diff(t, "table", []string{}, r.table(t))
				faults, err := r.operator.Faults(t.Context())
				diff(t, "error", nil, err)
				diff(t, "hits", 1, faults[0].Hits)
			})
		}
	}
}

func TestRouteIsNotMadeTwiceThoughTheListLags(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.set(t, simulator.Fault{Kind: simulator.FaultStale, Calls: []simulator.Call{simulator.ListRoutes}, Age: simulator.Duration(time.Hour)})
	r.make(t, 1, "10.244.1.0/24")
	diff(t, "not listed yet", []*cloudprovider.Route{}, r.list(t))
	err := r.routes.CreateRoute(t.Context(), cluster, "hint", toNode(1, "10.244.1.0/24"))
	if _, ok := errors.AsType[*api.RetryError](err); !ok {
		t.Errorf("got %v, want a RetryError", err)
	}
	diff(t, "error", nil, r.operator.ClearFaults(t.Context()))
	r.make(t, 1, "10.244.1.0/24")
	diff(t, "table", 1, len(r.table(t)))
}

func TestRouteFaultsAreErrors(t *testing.T) {
	for name, row := range map[string]struct {
		fault simulator.Fault
		want  provider.ErrorKind
	}{
		"Error":     {simulator.Fault{Kind: simulator.FaultError}, provider.Unavailable},
		"Outage":    {simulator.Fault{Kind: simulator.FaultOutage}, provider.Unavailable},
		"Throttled": {simulator.Fault{Kind: simulator.FaultThrottle, Rate: 0.001, Burst: 1}, provider.Throttled},
		"Denied":    {simulator.Fault{Kind: simulator.FaultDenied}, provider.Denied},
		"Reset":     {simulator.Fault{Kind: simulator.FaultReset}, provider.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouting(t, simulator.Config{})
			planted := r.plant(t, simulator.Route{Name: "planted", Destination: "10.244.1.0/24", Target: "i-00000001", Tags: map[string]string{TagNode: "node-1"}})
			r.set(t, row.fault)
			if row.fault.Kind == simulator.FaultThrottle {
				diff(t, "the burst", 1, len(r.list(t)))
			}
			all, err := r.routes.ListRoutes(t.Context(), cluster)
			diff(t, "routes of an incomplete list", 0, len(all))
			for what, err := range map[string]error{
				"list":   err,
				"create": r.routes.CreateRoute(t.Context(), cluster, "hint", toNode(2, "10.244.2.0/24")),
				"delete": r.routes.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: planted.ID}),
			} {
				class := r.cloud.ClassifyError(err)
				diff(t, what, row.want, class.Kind)
				diff(t, what+" has a RetryAfter", row.want == provider.Throttled, class.RetryAfter > 0)
			}
			diff(t, "table", []string{"rt-00000001 10.244.1.0/24->i-00000001"}, r.table(t))
		})
	}
}

// A route leads to the instance that has the Node's name when the route is created. If
// another instance gets that name later, the existing route does not count as the
// wanted route.
func TestRouteToAnInstanceThatIsReplaced(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.make(t, 1, "10.244.1.0/24")
	renamed := "elsewhere"
	_, err := r.operator.UpdateInstance(t.Context(), "i-00000001", simulator.InstancePatch{Name: &renamed})
	diff(t, "error", nil, err)
	err = r.routes.CreateRoute(t.Context(), cluster, "hint", toNode(1, "10.244.1.0/24"))
	diff(t, "no instance has the name", true, errors.Is(err, cloudprovider.InstanceNotFound))
	r.create(t, simulator.Instance{Name: "node-1"})
	for range 2 {
		r.make(t, 1, "10.244.1.0/24")
		diff(t, "table", []string{"rt-00000001 10.244.1.0/24->i-00000001", "rt-00000002 10.244.1.0/24->i-00000004"}, r.table(t))
	}
}

// If a Node's name is long, the route's name contains only a part of it. This
// leaves room for the instance's ID, which the cloud appends.
func TestRouteToANodeWithALongName(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	name := strings.Repeat("n", 253)
	r.create(t, simulator.Instance{Name: name})
	for range 2 {
		diff(t, "create", nil, r.routes.CreateRoute(t.Context(), cluster, "hint", &cloudprovider.Route{TargetNode: types.NodeName(name), DestinationCIDR: "10.244.1.0/24"}))
	}
	diff(t, "table", []string{"rt-00000001 10.244.1.0/24->i-00000004"}, r.table(t))
}

// atOnce calls the given function n times concurrently, and fails the test on an
// error.
func atOnce(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	diff(t, "error", nil, errors.Join(errs...))
}

func TestGivingUp(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.set(t, simulator.Fault{Kind: simulator.FaultHang})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := r.routes.CreateRoute(ctx, cluster, "hint", toNode(1, "10.244.1.0/24"))
	diff(t, "deadline", true, errors.Is(err, context.DeadlineExceeded))
	diff(t, "kind", provider.Unavailable, r.cloud.ClassifyError(err).Kind)
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	err = r.routes.DeleteRoute(cancelled, cluster, &cloudprovider.Route{Name: "rt-00000001"})
	diff(t, "cancelled", true, errors.Is(err, context.Canceled))
	diff(t, "kind", provider.Unclassified, r.cloud.ClassifyError(err).Kind)
}

func TestManyRoutesAtOnce(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	const n = 200
	of := func(i int) *cloudprovider.Route { return toNode(1+i%3, fmt.Sprintf("10.244.%d.0/24", i)) }
	word := func(route *cloudprovider.Route) string {
		return fmt.Sprintf("%s to %s", route.DestinationCIDR, route.TargetNode)
	}
	listed := func() []string {
		var words []string
		for _, route := range r.list(t) {
			words = append(words, word(route))
		}
		slices.Sort(words)
		return words
	}
	wanted := func(from, to int) []string {
		var words []string
		for i := from; i < to; i++ {
			words = append(words, word(of(i)))
		}
		slices.Sort(words)
		return words
	}
	atOnce(t, n, func(i int) error { // each route twice
		return r.routes.CreateRoute(t.Context(), cluster, "hint", of(i/2))
	})
	diff(t, "each route exists once", wanted(0, n/2), listed())
	atOnce(t, n, func(i int) error { // some routes are deleted while others are created
		if i < n/4 {
			return r.routes.DeleteRoute(t.Context(), cluster, of(i))
		}
		return r.routes.CreateRoute(t.Context(), cluster, "hint", of(i))
	})
	diff(t, "what is left", wanted(n/4, n), listed())
}

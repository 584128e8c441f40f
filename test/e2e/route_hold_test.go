package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
)

// strays creates stray routes. They lead to an instance that has no Node.
func strays(t *testing.T, n *podnetwork.Network, count int) []simulator.Route {
	t.Helper()
	foreign := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("foreign")})
	var routes []simulator.Route
	for k := range count {
		routes = append(routes, simulator.Route{Destination: fmt.Sprintf("10.252.%d.0/24", k), Target: foreign.ID})
	}
	return n.Plants(t, routes...)
}

// hasRoutesOf adds Nodes, runs a daemon until it has created their routes, and stops it.
func hasRoutesOf(t *testing.T, n *podnetwork.Network, bases ...string) {
	t.Helper()
	d := n.Runs(t, daemon.Setup{})
	for _, base := range bases {
		n.Joins(t, base)
	}
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
}

// In a cluster with two Nodes, ten stray routes are held, reported and counted. When
// only three stray routes are left, they are deleted (S5).
func TestStrayRoutesAreHeld(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	hasRoutesOf(t, n, "few", "few") // Two routes exist before the strays, so each listing has 12.
	strays := strays(t, n, 10)
	n.Standing = podnetwork.Lines(strays)
	const event, words = "Warning RouteDeletionHeld: 10 stray routes are kept", "10 of 12 routes are stray, more than the budget of max(3, 10 %)"
	before := podnetwork.CountOnLease(t, n.Bed, event, words)
	d := n.Runs(t, daemon.Setup{})
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	n.AwaitMetric(t, d, "fairlead_routes_held 10")
	n.AwaitMetric(t, d, "fairlead_routes_held_by_budget 10")
	podnetwork.AwaitOnLease(t, n.Bed, before+1, event, words)
	podnetwork.AwaitListings(t, n.Cloud, int64(3*podnetwork.StrayFor/time.Second))
	podnetwork.AwaitTable(t, expect.Soon, n)
	podnetwork.AwaitOnLease(t, n.Bed, before+1, event, words)
	d.AwaitLogged(t, "Route deletion held", "routes=10", "10.252.0.0/24")
	if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted != 0 {
		t.Errorf("%d routes were deleted", made.Deleted)
	}

	for _, r := range strays[3:] { // An operator deletes all but three.
		if err := n.Cloud.DeleteRoute(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	n.Standing = nil
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitMetric(t, d, "fairlead_routes_held 0")
	if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted != 3 {
		t.Errorf("%d routes were deleted, want 3", made.Deleted)
	}
}

// Stray routes beyond the budget are deleted, too, once they have been stray for
// long enough.
func TestHeldRoutesGoInTheEnd(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	n.Joins(t, "few")
	strays(t, n, 10)
	began := time.Now()
	const overBudgetAfter = 8 * time.Second
	n.Runs(t, daemon.Setup{Flags: []string{"--route-deletion-over-budget-after=" + overBudgetAfter.String()}})
	podnetwork.AwaitTable(t, expect.Soon, n)
	if took := time.Since(began); took < overBudgetAfter {
		t.Errorf("they have gone after %v, want %v at least", took, overBudgetAfter)
	}
}

// While a listing is empty or incomplete, existing routes stay, and nothing is
// reported about them.
func TestRoutesOutliveABrokenList(t *testing.T) {
	for _, kind := range []simulator.FaultKind{simulator.FaultEmptyList, simulator.FaultTruncatedList} {
		t.Run(string(kind), func(t *testing.T) {
			n := podnetwork.New(t, onShared(t))
			d := n.Runs(t, daemon.Setup{})
			for range 4 {
				n.Joins(t, "listed")
			}
			podnetwork.AwaitTable(t, expect.Soon, n)
			n.AwaitReachable(t, expect.Soon)
			mark := n.Audit(t).Mark()
			n.Cloud.Fail(t, simulator.Fault{Name: "broken", Kind: kind, Calls: []simulator.Call{simulator.ListRoutes}})
			podnetwork.AwaitListings(t, n.Cloud, 5)
			n.Cloud.Heal(t)
			podnetwork.AwaitListings(t, n.Cloud, 3)
			podnetwork.AwaitTable(t, expect.Soon, n)
			if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted != 0 {
				t.Errorf("%d routes were deleted", made.Deleted)
			}
			if all := podnetwork.ConditionsWritten(t, n.Bed, mark); len(all) > 0 {
				t.Errorf("the condition was written: %v", all)
			}
			if d.Ended() {
				t.Error("the daemon has ended")
			}
		})
	}
}

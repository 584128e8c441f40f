package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// strays are routes that lead to an instance which is no Node.
func (n *network) strays(t *testing.T, count int) []simulator.Route {
	t.Helper()
	foreign := n.cloud.Instance(t, simulator.Instance{Name: n.Name("foreign")})
	var routes []simulator.Route
	for k := range count {
		routes = append(routes, simulator.Route{Destination: fmt.Sprintf("10.252.%d.0/24", k), Target: foreign.ID})
	}
	return n.plants(t, routes...)
}

// hasRoutesOf adds Nodes and lets a daemon create their routes, which then ends.
func (n *network) hasRoutesOf(t *testing.T, bases ...string) {
	t.Helper()
	d := n.runs(t, daemon.Setup{})
	for _, base := range bases {
		n.joins(t, base)
	}
	awaitTable(t, expect.Soon, n)
	n.awaitReachable(t, expect.Soon)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Ten stray routes beside two Nodes are held, reported and counted; three are
// few enough to go (S5).
func TestStrayRoutesAreHeld(t *testing.T) {
	n := newNetwork(t, onShared(t))
	n.hasRoutesOf(t, "few", "few") // Whenever the daemon lists, it finds 12 routes.
	strays := n.strays(t, 10)
	n.standing = lines(strays)
	const event, words = "Warning RouteDeletionHeld: 10 stray routes are kept", "10 of 12 routes are stray, more than the budget of max(3, 10 %)"
	before := countOnLease(t, n.Bed, event, words)
	d := n.runs(t, daemon.Setup{})
	awaitTable(t, expect.Soon, n)
	n.awaitReachable(t, expect.Soon)
	n.AwaitMetric(t, d, "fairlead_routes_held 10")
	awaitOnLease(t, n.Bed, before+1, event, words)
	awaitListings(t, n.cloud, int64(3*strayFor/time.Second))
	awaitTable(t, expect.Soon, n)
	awaitOnLease(t, n.Bed, before+1, event, words)
	d.AwaitLogged(t, "Route deletion held", "routes=10", "10.252.0.0/24")
	if made := routeChanges(t, n.cloud); made.Deleted != 0 {
		t.Errorf("%d routes were deleted", made.Deleted)
	}

	for _, r := range strays[3:] { // An operator repairs it.
		if err := n.cloud.DeleteRoute(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	n.standing = nil
	awaitTable(t, expect.Soon, n)
	n.AwaitMetric(t, d, "fairlead_routes_held 0")
	if made := routeChanges(t, n.cloud); made.Deleted != 3 {
		t.Errorf("%d routes were deleted, want 3", made.Deleted)
	}
}

// So many go as well once they have been stray for long enough.
func TestHeldRoutesGoInTheEnd(t *testing.T) {
	n := newNetwork(t, onShared(t))
	n.joins(t, "few")
	n.strays(t, 10)
	began := time.Now()
	const overBudgetAfter = 8 * time.Second
	n.runs(t, daemon.Setup{Flags: []string{"--route-deletion-over-budget-after=" + overBudgetAfter.String()}})
	awaitTable(t, expect.Soon, n)
	if took := time.Since(began); took < overBudgetAfter {
		t.Errorf("they have gone after %v, want %v at least", took, overBudgetAfter)
	}
}

// While a listing is empty or incomplete, existing routes stay, and nothing is
// reported about them.
func TestRoutesOutliveABrokenList(t *testing.T) {
	for _, kind := range []simulator.FaultKind{simulator.FaultEmptyList, simulator.FaultTruncatedList} {
		t.Run(string(kind), func(t *testing.T) {
			n := newNetwork(t, onShared(t))
			d := n.runs(t, daemon.Setup{})
			for range 4 {
				n.joins(t, "listed")
			}
			awaitTable(t, expect.Soon, n)
			n.awaitReachable(t, expect.Soon)
			mark := n.Audit(t).Mark()
			n.cloud.Fail(t, simulator.Fault{Name: "broken", Kind: kind, Calls: []simulator.Call{simulator.ListRoutes}})
			awaitListings(t, n.cloud, 5)
			n.cloud.Heal(t)
			awaitListings(t, n.cloud, 3)
			awaitTable(t, expect.Soon, n)
			if made := routeChanges(t, n.cloud); made.Deleted != 0 {
				t.Errorf("%d routes were deleted", made.Deleted)
			}
			if all := conditionsWritten(t, n.Bed, mark); len(all) > 0 {
				t.Errorf("the condition was written: %v", all)
			}
			if d.Ended() {
				t.Error("the daemon has ended")
			}
		})
	}
}

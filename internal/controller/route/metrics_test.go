package route

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister, registry.CustomMustRegister)
	failing := given(1, listingFailing(at(1001)))
	m.synced(outcomeOf(given(1), plan{}), triggerPeriodic)
	m.synced(outcomeOf(given(1), plan{jobs: []job{{}}}), triggerNodeChange)
	m.synced(outcomeOf(failing, plan{jobs: []job{{}}}), triggerPeriodic)
	m.called(callCreate, time.Second, errors.New("no"))
	m.show(counts{held: 4})
	want := `
		# HELP fairlead_route_errors_total [ALPHA] Failed calls about routes, by operation and result
		# TYPE fairlead_route_errors_total counter
		fairlead_route_errors_total{operation="create",result="Failed"} 1
		# HELP route_controller_route_sync_total [ALPHA] Passes over the route table, by outcome and trigger
		# TYPE route_controller_route_sync_total counter
		route_controller_route_sync_total{outcome="changed",trigger="node_change"} 1
		route_controller_route_sync_total{outcome="error",trigger="periodic"} 1
		route_controller_route_sync_total{outcome="noop",trigger="periodic"} 1
	`
	names := []string{
		"route_controller_route_sync_total", "fairlead_route_errors_total",
		"fairlead_routes_wanted", "fairlead_routes_present", "fairlead_routes_missing", "fairlead_routes_held", "fairlead_routes_held_by_budget", "fairlead_routes_unreadable", "fairlead_routes_missing_oldest_seconds",
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Errorf("while no controller runs: %v", err)
	}
	clock := clocktesting.NewFakePassiveClock(at(60))
	stop := m.start(clock)
	m.show(counts{unreadable: 6, wanted: 5, present: 3, missing: map[string]int{"Failed": 2}, held: 4, overBudget: 3, oldestFailure: at(0)})
	want = `
		# HELP fairlead_routes_held [ALPHA] Stray routes that are not removed yet
		# TYPE fairlead_routes_held gauge
		fairlead_routes_held 4
		# HELP fairlead_routes_held_by_budget [ALPHA] Stray routes that only the budget keeps
		# TYPE fairlead_routes_held_by_budget gauge
		fairlead_routes_held_by_budget 3
		# HELP fairlead_routes_missing [ALPHA] Pod CIDRs of nodes that have no route, by reason
		# TYPE fairlead_routes_missing gauge
		fairlead_routes_missing{reason="Failed"} 2
		# HELP fairlead_routes_missing_oldest_seconds [ALPHA] Longest time for which changes of a route have been failing
		# TYPE fairlead_routes_missing_oldest_seconds gauge
		fairlead_routes_missing_oldest_seconds 60
		# HELP fairlead_routes_present [ALPHA] Pod CIDRs of nodes that have their route
		# TYPE fairlead_routes_present gauge
		fairlead_routes_present 3
		# HELP fairlead_routes_unreadable [ALPHA] Routes whose destination is not a CIDR; they are kept
		# TYPE fairlead_routes_unreadable gauge
		fairlead_routes_unreadable 6
		# HELP fairlead_routes_wanted [ALPHA] Pod CIDRs of nodes that need a route
		# TYPE fairlead_routes_wanted gauge
		fairlead_routes_wanted 5
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names[2:]...); err != nil {
		t.Errorf("while one runs: %v", err)
	}
	stop()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), names[2:]...); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
	m.start(clock)
	m.show(counts{})
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP fairlead_routes_missing_oldest_seconds [ALPHA] Longest time for which changes of a route have been failing
		# TYPE fairlead_routes_missing_oldest_seconds gauge
		fairlead_routes_missing_oldest_seconds 0
	`), "fairlead_routes_missing_oldest_seconds"); err != nil {
		t.Errorf("without a failure: %v", err)
	}
}

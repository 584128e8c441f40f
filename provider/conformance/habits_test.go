package conformance_test

import (
	"cmp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// habit is something that real providers do. Most habits are no flaws.
type habit string

// The habits.
const (
	warns     habit = "warns"     // with an Event about each Service
	caches    habit = "caches"    // the list of instances, for cacheTime
	refreshes habit = "refreshes" // the same, but it reads the list anew if an instance is missing
	direct    habit = "direct"    // packets go to the Service's own port
	addressed habit = "addressed" // it needs the addresses of Nodes, and its world does not know them
	once      habit = "once"      // it can be made only once in a process: it panics
	exits     habit = "exits"     // the same, but it ends the process a little later
	packs     habit = "packs"     // an api.RetryError into an Aggregate, where errors.As does not find it
	needsID   habit = "needsID"   // of a Node, or InstanceExists is an error
)

const cacheTime = 10 * time.Second

// caches reports whether the provider keeps the list of instances.
func (c *brokenCloud) caches() bool { return c.habit == caches || c.habit == refreshes }

// A provider with a habit passes, and one with a bad habit fails only the checks of that.
func TestHabits(t *testing.T) {
	balancers, routes := append(checksOf("loadbalancers/"), "fastpaths/backends"), append(checksOf("routes/"), "fastpaths/routes")
	bad := map[habit][]string{packs: {"loadbalancers/not-blocking"}, needsID: {"instances/by-name", "instances/gone-by-name"}}
	all := slices.Concat(checksOf("instances/"), checksOf("cost/"), checksOf("fastpaths/"), checksOf("loadbalancers/"), checksOf("routes/"))
	for h, checks := range map[habit][]string{
		warns: balancers, direct: balancers, addressed: slices.Concat(balancers, routes), caches: all, refreshes: all,
		packs: balancers, needsID: checksOf("instances/"),
	} {
		testWith(t, "+"+string(h), func(t *testing.T, name string) {
			for _, result := range run(t, name, conformance.Options{Only: checks}).Checks {
				if passed := result.Outcome == conformance.Passed; passed == slices.Contains(bad[h], result.ID) {
					t.Errorf("%s: %s: %s", result.ID, result.Outcome, result.Why)
				}
			}
		})
	}
}

// testWith runs a subtest for a provider with the flaw and the habit of this name. The time of
// the subtest is not real, because the suite waits for caches.
func testWith(t *testing.T, name string, test func(*testing.T, string)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, name) })
	})
}

// The suite finds the flaws of a provider with a habit.
func TestHabitsHideNoFlaw(t *testing.T) {
	for name, check := range map[string]string{
		"loadbalancers/source-ranges+warns":    "loadbalancers/source-ranges",
		"loadbalancers/not-ignored+warns":      "loadbalancers/not-ignored",
		"loadbalancers/ports+direct":           "loadbalancers/ports",
		"loadbalancers/own-port":               "loadbalancers/ports", // the habit direct, in a cloud that needs a node port
		"loadbalancers/foreign-node+addressed": "loadbalancers/foreign-node",
		"routes/knows-one":                     "routes/live-is-no-blackhole",
		"instances/gone-by-name+caches":        "instances/gone-by-name",
	} {
		testWith(t, name, func(t *testing.T, name string) {
			if result := run(t, name, conformance.Options{Only: []string{check}}).Checks[0]; result.Outcome != conformance.Failed {
				t.Errorf("%s: %s", result.Outcome, result.Why)
			}
		})
	}
}

// If a provider can be made only once in a process, the suite says so, and judges it by the
// checks that need no other.
func TestSingletons(t *testing.T) {
	want := map[string]conformance.Outcome{
		"process/twice-in-one-process": conformance.Failed,
		"instances/id-round-trip":      conformance.NotRun, // it restarts the provider
		"instances/fault-is-error":     conformance.Failed, // the flaw
	}
	for _, h := range []habit{once, exits} {
		t.Run(string(h), func(t *testing.T) {
			only := append(checksOf("process/"), "instances/by-id", "instances/id-round-trip", "instances/fault-is-error")
			report := run(t, "instances/fault-is-error+"+string(h), conformance.Options{Only: only})
			for _, result := range report.Checks {
				if result.Outcome != cmp.Or(want[result.ID], conformance.Passed) {
					t.Errorf("%s: %s: %s", result.ID, result.Outcome, result.Why)
				}
			}
			if !report.Singleton {
				t.Error("the report does not say that the provider can be made only once")
			}
		})
	}
}

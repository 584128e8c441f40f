package alerts

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// When the deletions of many objects are held, an alert fires within two minutes. The
// first Node or route is deleted only later, so somebody can still act.
func TestMassHoldsFireBeforeTheDeletion(t *testing.T) {
	nodesWait := flag(t, "node-deletion-over-budget-after") - max(flag(t, "node-deletion-absent-for"), flag(t, "node-deletion-young-absent-for"))
	routesWait := flag(t, "route-deletion-over-budget-after") - flag(t, "route-deletion-stray-for")
	for _, row := range []struct {
		alert, metric string
		// lasts is how long the deletions are held before the first of them is made.
		lasts time.Duration
	}{
		{"FairleadMassNodeDeletionHeld", `fairlead_node_deletions_held{reason="TooManyAbsent"}`, nodesWait},
		{"FairleadMassRouteDeletionHeld", "fairlead_routes_held_by_budget", routesWait},
	} {
		t.Run(row.alert, func(t *testing.T) {
			hold := series{row.metric, func(now time.Duration) (float64, bool) { return 12, now > 0 && now < row.lasts }}
			after, fires := firesAfter(t, alertsInFile(t)[row.alert], []series{hold})
			if !fires || after > 2*time.Minute || after >= row.lasts {
				t.Errorf("it fires after %v (%v), want two minutes at most, and less than %v", after, fires, row.lasts)
			}
		})
	}
}

// flag returns the default of a flag. It reads the generated page of flags and does not
// import the code, because this module would compile the code with the library versions
// that Prometheus needs.
func flag(t *testing.T, name string) time.Duration {
	t.Helper()
	match := regexp.MustCompile("(?m)^\\| `--" + name + "` \\| `([^`]+)`").FindStringSubmatch(read(t, "flags.md"))
	if match == nil {
		t.Fatalf("the page of flags has no default of --%s", name)
	}
	value, err := time.ParseDuration(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The page of events documents each event reason that an alert names.
func TestReasonsExist(t *testing.T) {
	events, found := read(t, "events.md"), 0
	for name, rule := range alertsInFile(t) {
		for _, match := range regexp.MustCompile(`reason="(\w+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			found++
			if !strings.Contains(events, "`"+match[1]+"`") {
				t.Errorf("%s: there is no reason %s", name, match[1])
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d reasons in the alerts", found)
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each alert fires within a given time after trouble begins. It does not fire without
// trouble.
func TestEachAlertFiresInTrouble(t *testing.T) {
	all := alertsInFile(t)
	for _, row := range []struct {
		alert  string
		series []series
		within time.Duration
	}{
		{"FairleadNoLeader", []series{gone(`running_managed_controllers{manager="cloud-controller-manager",name="service"}`)}, 11 * time.Minute},
		{"FairleadControllerMisconfigured", []series{becomes(`fairlead_controller_misconfigured{name="route"}`, 1)}, 7 * time.Minute},
		{"FairleadProviderOffersNothing", []series{becomes("fairlead_provider_offers_nothing", 1)}, 7 * time.Minute},
		{"FairleadNodesWaiting", []series{grows("fairlead_nodes_waiting_oldest_seconds")}, 12 * time.Minute},
		{"FairleadNodeDeletionsHeld", []series{grows("fairlead_node_deletions_held_oldest_seconds")}, 17 * time.Minute},
		{"FairleadMassNodeDeletionHeld", []series{becomes(`fairlead_node_deletions_held{reason="TooManyAbsent"}`, 12)}, 2 * time.Minute},
		{"FairleadMassNodeDeletion", []series{becomes(`fairlead_node_deletions_held{reason="DeletionRateLimited"}`, 7)}, 2 * time.Minute},
		{"FairleadServingCertificatesHeld", []series{grows("fairlead_serving_certificate_requests_pending_oldest_seconds")}, 17 * time.Minute},
		{"FairleadServicesWaiting", []series{grows("fairlead_services_waiting_oldest_seconds")}, 17 * time.Minute},
		{"FairleadRoutesMissing", []series{becomes(`fairlead_routes_missing{reason="Failed"}`, 2)}, 12 * time.Minute},
		{"FairleadMassRouteDeletionHeld", []series{becomes("fairlead_routes_held_by_budget", 10)}, 2 * time.Minute},
		{"FairleadNodesWithoutCIDRs", []series{grows("fairlead_nodes_without_cidrs_oldest_seconds")}, 12 * time.Minute},
		{"FairleadCloudErrors", []series{
			counts(`fairlead_cloud_calls_total{call="InstanceMetadata",result="Succeeded"}`, 60, 30),
			counts(`fairlead_cloud_calls_total{call="InstanceMetadata",result="Denied"}`, 0, 30),
		}, 22 * time.Minute},
		{"FairleadCloudCallsOverdue", []series{becomes("fairlead_cloud_calls_overdue", 1)}, 7 * time.Minute},
		{"FairleadCloudConfigStale", []series{becomes("fairlead_cloud_config_stale", 1)}, 7 * time.Minute},
	} {
		t.Run(row.alert, func(t *testing.T) {
			rule, ok := all[row.alert]
			if !ok {
				t.Fatal("there is no such alert")
			}
			delete(all, row.alert)
			if after, fires := firesAfter(t, rule, row.series); !fires || after <= 0 || after > row.within {
				t.Errorf("in trouble it fires after %v (%v), want more than 0 and at most %v", after, fires, row.within)
			}
			if after, fires := firesAfter(t, rule, healthy(row.series)); fires {
				t.Errorf("without trouble it fires after %v", after)
			}
		})
	}
	for name := range all {
		t.Errorf("%s is not tested", name)
	}
}

// becomes returns a gauge that is 0 until the trouble starts, and has the given value from
// then on.
func becomes(metric string, value float64) series {
	return series{metric, func(now time.Duration) (float64, bool) {
		if now <= 0 {
			return 0, true
		}
		return value, true
	}}
}

// grows returns a gauge whose value is the age of the trouble in seconds.
func grows(metric string) series {
	return series{metric, func(now time.Duration) (float64, bool) { return max(now.Seconds(), 0), true }}
}

// counts returns a counter. The arguments are its growth per minute before and during
// the trouble.
func counts(metric string, before, during float64) series {
	return series{metric, func(now time.Duration) (float64, bool) {
		return before*(history+min(now, 0)).Minutes() + during*max(now, 0).Minutes(), true
	}}
}

// gone returns a gauge that is 1 and disappears when the trouble starts.
func gone(metric string) series {
	return series{metric, func(now time.Duration) (float64, bool) { return 1, now <= 0 }}
}

// healthy returns copies of the series. In the copies, the trouble never starts.
func healthy(all []series) []series {
	var calm []series
	for _, s := range all {
		calm = append(calm, series{s.metric, func(now time.Duration) (float64, bool) { return s.value(min(now, 0)) }})
	}
	return calm
}

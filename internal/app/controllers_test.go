package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelection(t *testing.T) {
	all := []string{nodeController, nodeLifecycleController, serviceController, routeController}
	for _, tc := range []struct {
		name    string
		entries string
		want    []string
	}{
		{"StarIsAllThatAreOnByDefault", "*", all},
		{"NamesWithoutStarAreAll", "cloud-node-controller,node-route-controller", []string{nodeController, routeController}},
		{"NothingWithoutStar", "-service-lb-controller", nil},
		{"MinusTakesOutOfStar", "*,-service-lb-controller,-node-route-controller", []string{nodeController, nodeLifecycleController}},
		{"OrderOfStarDoesNotMatter", "-cloud-node-controller,*", all[1:]},
		{"FirstEntryForANameCounts", "*,-cloud-node-controller,cloud-node-controller", all[1:]},
		{"AliasesAreNames", "cloud-node,cloud-node-lifecycle,service,route", all},
		{"AliasCanBeTakenOut", "*,-cloud-node", all[1:]},
		{"AliasAndNameAreOneController", "-cloud-node,cloud-node-controller", nil},
		{"TheOrderOfTheTable", "route,cloud-node", []string{nodeController, routeController}},
		{"OffByDefaultNeedsItsName", "*,off", append(all[:4:4], "off")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newControllerOptions(append(controllers[:4:4], registration{name: "off"}))
			o.chosen = strings.Split(tc.entries, ",")
			var got []string
			for _, r := range o.enabled() {
				got = append(got, r.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestIdentities(t *testing.T) {
	type identity struct{ Name, Alias, Client, Source string }
	want := []identity{
		{"cloud-node-controller", "cloud-node", "node-controller", "cloud-node-controller"},
		{"cloud-node-lifecycle-controller", "cloud-node-lifecycle", "node-controller", "cloud-node-lifecycle-controller"},
		{"service-lb-controller", "service", "service-controller", "service-controller"},
		{"node-route-controller", "route", "route-controller", "route_controller"},
	}
	var got []identity
	for _, r := range controllers {
		got = append(got, identity{r.name, r.alias, r.client, r.source})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

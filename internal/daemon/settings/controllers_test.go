package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelection(t *testing.T) {
	all := []string{NodeController, NodeLifecycleController, ServiceController, RouteController}
	for _, tc := range []struct {
		name    string
		entries string
		want    []string
	}{
		{"StarIsAllThatAreOnByDefault", "*", all},
		{"NamesWithoutStarAreAll", "cloud-node-controller,node-route-controller", []string{NodeController, RouteController}},
		{"NothingWithoutStar", "-service-lb-controller", nil},
		{"MinusTakesOutOfStar", "*,-service-lb-controller,-node-route-controller", []string{NodeController, NodeLifecycleController}},
		{"OrderOfStarDoesNotMatter", "-cloud-node-controller,*", all[1:]},
		{"FirstEntryForANameCounts", "*,-cloud-node-controller,cloud-node-controller", all[1:]},
		{"AliasesAreNames", "cloud-node,cloud-node-lifecycle,service,route", all},
		{"AliasCanBeTakenOut", "*,-cloud-node", all[1:]},
		{"AliasAndNameAreOneController", "-cloud-node,cloud-node-controller", nil},
		{"TheOrderOfTheTable", "route,cloud-node", []string{NodeController, RouteController}},
		{"OffByDefaultNeedsItsName", "*,off", append(all[:4:4], "off")},
		{"NodeCIDRsAreOffByDefault", "*,nodeipam", append(all[:4:4], IPAMController)},
		{"VolumesAreOffByDefault", "*,persistent-volume-label", append(all[:4:4], VolumeController)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newControllers(append(Ours(), Controller{Name: "off", OffByDefault: true}))
			o.chosen = strings.Split(tc.entries, ",")
			var got []string
			for _, r := range o.Enabled() {
				got = append(got, r.Name)
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
		{"kubelet-serving-csr-controller", "kubelet-serving-csr-controller", "kubelet-serving-csr-controller", "kubelet-serving-csr-controller"},
		{"persistent-volume-label-controller", "persistent-volume-label", "persistent-volume-label-controller", "persistent-volume-label-controller"},
		{"node-ipam-controller", "nodeipam", "node-controller", "cidrAllocator"},
	}
	var got []identity
	for _, r := range Ours() {
		got = append(got, identity{r.Name, r.Alias, r.ClientName, r.Source})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

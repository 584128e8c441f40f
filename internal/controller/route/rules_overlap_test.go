package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestCommonLengths(t *testing.T) {
	for _, tt := range []struct {
		name, claimed string // separated by spaces
		want          []int
	}{
		{"OnlyOne", "10.244.1.0/24", []int{24}},
		{"OneAgainstOne", "10.244.1.0/24 10.244.2.0/23", nil}, // the older Node counts
		{"OneAgainstTwo", "10.244.1.0/24 10.244.2.0/24 10.244.3.0/25", []int{24}},
		{"TwoOfMany", "10.244.1.0/24 10.244.2.0/24 10.244.3.0/24 10.244.4.0/25 10.244.5.0/25", []int{24, 25}},
		{"OneOfMany", "10.244.1.0/24 10.244.2.0/24 10.244.3.0/25 10.244.4.0/26", []int{24}},
		{"OutsideTheCluster", "10.244.1.0/24 10.0.0.0/8 11.0.0.0/8", []int{24}},
		{"OneCIDROfTwoNodes", "10.244.1.0/24 10.244.1.0/24 10.244.2.0/23", nil},
		{"EachFamilyForItself", "10.244.1.0/24 fd00:0:0:1::/64", []int{24, 64}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := given(0)
			for i, cidr := range strings.Fields(tt.claimed) {
				addNode(&o, i, cidr, cidr) // A Node can have a CIDR twice. It counts once.
			}
			var got []int
			for l, common := range newIndex(o).common {
				if common {
					got = append(got, l.bits)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Each CIDR knows the CIDRs that contain it, and those that it contains.
func TestOverlaps(t *testing.T) {
	o := given(0, listed(newRoute("r", "gone", "10.244.2.64/26")))
	for i, cidr := range []string{
		"10.244.0.0/16", "10.244.0.0/22", "10.244.0.0/24", "10.244.2.0/24", "10.244.2.0/25", "10.244.4.0/24", "10.0.0.0/8", "9.0.0.0/8", "fd00::/60", "fd00::/64", "::/0",
	} {
		addNode(&o, i, cidr)
	}
	x := newIndex(o)
	all := slices.SortedFunc(maps.Keys(x.entries), netip.Prefix.Compare)
	for _, cidr := range all {
		var wholes, parts []netip.Prefix
		for _, other := range all {
			switch {
			case other == cidr || !other.Overlaps(cidr):
			case other.Bits() < cidr.Bits():
				wholes = append(wholes, other)
			default:
				parts = append(parts, other)
			}
		}
		for what, lists := range map[string][2]any{"wholes": {wholes, cidrsOfEntries(x.entries[cidr].wholes)}, "parts": {parts, cidrsOfEntries(x.entries[cidr].parts)}} {
			if diff := cmp.Diff(fmt.Sprint(lists[0]), fmt.Sprint(lists[1])); diff != "" {
				t.Errorf("%s of %v (-want +got):\n%s", what, cidr, diff)
			}
		}
	}
}

func cidrsOfEntries(entries []*entry) (all []netip.Prefix) {
	for _, e := range entries {
		all = append(all, e.cidr)
	}
	return all
}

// A pass over many Nodes looks at each Node a few times, even if a Node claims a CIDR
// that contains those of all others. The test counts how often the plan asks whether a
// Node belongs to this daemon.
func TestPlanLooksAtEachNodeAFewTimes(t *testing.T) {
	for _, wides := range [][]string{nil, {"10.0.0.0/8"}, {"10.0.0.0/9", "10.0.0.0/10", "10.0.0.0/11", "10.0.0.0/12"}} {
		o, looks := given(0), 0
		o.clusters = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		o.claim.Nodes = func(*corev1.Node) bool { looks++; return true }
		for i := range 2000 {
			cidr := fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)
			addNode(&o, i, cidr)
			o.memory.listing.routes = append(o.memory.listing.routes, newRoute(fmt.Sprint("r", i), o.nodes[i].Name, cidr))
		}
		for i, wide := range wides {
			addNode(&o, 2000+i, wide)
		}
		if p := decide(o); p.counts.present != 2000 || len(p.jobs) > 0 {
			t.Fatalf("%v: %d routes are present, %d jobs", wides, p.counts.present, len(p.jobs))
		}
		if most := 3 * len(o.nodes); looks > most {
			t.Errorf("%v: %d looks at %d Nodes, want %d at most", wides, looks, len(o.nodes), most)
		}
	}
}

// addNode adds a Node with these CIDRs.
func addNode(o *observed, i int, cidrs ...string) {
	node := newNode(i)
	node.Spec.PodCIDRs = cidrs
	o.nodes = append(o.nodes, node)
}

package route

import (
	"fmt"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhenToDecideAgain(t *testing.T) {
	unknown := newRoute("s", "gone", "10.244.99.0/24")
	for _, tt := range []struct {
		name string
		o    observed
		want time.Duration
	}{
		{"RegularCheckIsDue", given(1), time.Minute},
		{"StrayRoute", given(1, listed(unknown)), 29 * time.Second},
		{"Failure", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), 5 * time.Second},
		{"FailedListing", given(1, listingFailing(at(1007))), 7 * time.Second},
		{"FailedListingThatIsOverdue", given(1, listingFailing(at(1007)), func(o *observed) { o.memory.nextListing = at(990) }), 7 * time.Second},
		{"NodeStaysReachableForAMinute", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 945, 998, 1050)), 5 * time.Second},
		{"ForeignConditionIsReported", given(1, node("node-1", foreignFor(5*time.Minute-3*time.Second))), 3 * time.Second},
		{"ForeignConditionIsAdopted", given(1, node("node-1", foreignFor(time.Minute)), adopting(time.Minute+2*time.Second)), 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decide(tt.o).after; got != tt.want {
				t.Errorf("after %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTally(t *testing.T) {
	p := decide(given(6, unlisted("r1"), unlisted("r2"), unlisted("r3"), unlisted("r4"),
		listed(blackhole(newRoute("b", "", "10.244.2.0/24")), newRoute("u", "", "nonsense")),
		failing("10.244.3.0/24", "uid-3", 990, 998, 1005), node("node-4", label(""))))
	want := counts{wanted: 6, present: 2, unreadable: 1, held: 1, missing: map[string]int{"InProgress": 1, kindBlackhole: 1, "Failed": 1, "Excluded": 1}}
	if diff := cmp.Diff(want, p.counts, cmp.AllowUnexported(counts{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFailuresHeal(t *testing.T) {
	one := netip.MustParsePrefix("10.244.1.0/24")
	blackholed := remember(func(m *memory) {
		m.failures[one] = failure{count: 1, kind: kindBlackhole, node: "uid-1", at: at(998), until: at(1005)}
	})
	made := remember(func(m *memory) { m.created[claim{one, "uid-1"}] = at(998) })
	for _, tt := range []struct {
		name string
		o    observed
		want []netip.Prefix
	}{
		{"FailureIsOverWhenTheRouteIsListed", given(1, failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), []netip.Prefix{one}},
		{"FailureStaysWhileTheRouteIsMissing", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), nil},
		{"FailureIsOverWhenNoNodeNeedsTheRoute", given(1, without("node-1"), unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), []netip.Prefix{one}},
		{"CreationAloneDoesNotEndTheFailureOfABlackhole", given(1, unlisted("r1"), made, blackholed), nil},
		{"ListedRouteEndsTheFailureOfABlackhole", given(1, made, blackholed), []netip.Prefix{one}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decide(tt.o).resolved, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecideChangesNothing(t *testing.T) {
	o := given(3, listed(strays(2)...), failing("10.244.1.0/24", "uid-1", 990, 998, 1005))
	before, strays := fmt.Sprintf("%+v", o.memory), maps.Clone(o.memory.strays)
	first := digest(decide(o))
	if after := fmt.Sprintf("%+v", o.memory); after != before || !maps.Equal(strays, o.memory.strays) {
		t.Errorf("the memory was changed from\n%s\nto\n%s", before, after)
	}
	if diff := cmp.Diff(first, digest(decide(o))); diff != "" {
		t.Errorf("the second time it decides otherwise:\n%s", diff)
	}
}

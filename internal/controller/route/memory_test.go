package route

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

func TestDeletedNodesAreRemembered(t *testing.T) {
	m := newMemory()
	m.left(newNode(1), at(0))
	again := newNode(2) // under the same name, with another CIDR
	again.Name = "node-1"
	m.left(again, at(10))
	if got, want := m.departed["node-1"].cidrs, append(cidrsOf(newNode(1)), cidrsOf(newNode(2))...); !slices.Equal(got, want) {
		t.Errorf("CIDRs %v, want %v: the routes of both may be left", got, want)
	}
	late := at(10).Add(rememberDeparture)
	m.listed(listing{at: late})
	if _, ok := m.departed["node-1"]; !ok {
		t.Error("forgotten, though a route may still be listed late")
	}
	m.listed(listing{at: late.Add(time.Second), routes: []route{newRoute("r1", "node-1", "10.244.1.0/24")}})
	if _, ok := m.departed["node-1"]; !ok {
		t.Error("forgotten, though a route still leads there")
	}
	m.listed(listing{at: late.Add(time.Second)})
	if _, ok := m.departed["node-1"]; ok {
		t.Error("remembered for ever")
	}
}

func TestRemovalsAndWhatWasMade(t *testing.T) {
	one := netip.MustParsePrefix("10.244.1.0/24")
	route := newRoute("r1", "node-1", "10.244.1.0/24")
	for _, tt := range []struct {
		name    string
		removed removal
		failed  *failure
		want    bool
	}{
		{"TheNodesOwn", removal{route: route}, &failure{reason: "Failed"}, false},
		{"TheNodesOwnAndIsMadeAgain", removal{route: route}, nil, true},
		{"AnotherOnes", removal{route: route, orphan: true}, &failure{reason: "Failed"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			m.made[claim{one, "uid-1"}] = at(1)
			next := job{cidr: one, remove: []removal{tt.removed}, create: &creation{node: newNode(1)}}
			m.done(next, next.remove, tt.failed, at(2))
			if _, made := m.made[claim{one, "uid-1"}]; made != tt.want {
				t.Errorf("believed to be made: %v, want %v", made, tt.want)
			}
			if _, gone := m.gone[route.identity]; !gone {
				t.Error("what was removed is not remembered")
			}
		})
	}
}

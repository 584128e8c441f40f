package route

import (
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

package route

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// listingRows returns the test rows for the time of a listing, and for the facts that a
// listing proves.
func listingRows() []row {
	return []row{
		{"UnknownRoutesAreListed", given(1, func(o *observed) { o.memory.listing = listing{} }), []string{"list: the routes are not known yet"}},
		{"RegularCheckIsDue", given(1, func(o *observed) { o.memory.nextListing = o.now }), []string{"list: the regular check"}},
		{"NewNodeNeedsNoListing", given(1, unlisted("r1"), changedAt(999.5)), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"DeletedNodeNeedsAListing", given(2, without("node-1"), func(o *observed) { o.memory.deleted["node-1"], o.changed = deletedNode{at: at(999.5)}, at(999.5) }), []string{"list: a Node was deleted since the routes were listed"}},
		{"MovedCIDRNeedsAListing", given(2, unlisted("r1"), listed(moved), changedAt(999.5)), []string{"list: Nodes have changed since the routes were listed"}},
		{"NodeDeletedDuringThePassWaitsForTheNext", given(2, func(o *observed) { o.memory.deleted["x"] = deletedNode{at: at(999.5)} }), nil},
		{"StrayRoutesAreCheckedAgain", given(1, listed(unknown), strayFor(unknown, 29*time.Second)), []string{"list: stray routes are checked again"}},
		{"RoutesOverBudgetAreCheckedAgain", given(1, listed(strays(4)...), allStrayFor(10*time.Minute-time.Second)), []string{"list: stray routes are checked again"}},
		{"CreatedLatelyCountsAsThere", given(1, unlisted("r1"), created("10.244.1.0/24", "uid-1")), nil},
		{
			"CreatedForAnotherNodeDoesNotCount", given(1, unlisted("r1"), created("10.244.1.0/24", "uid-9")),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"},
		},
		{"RemovedLatelyCountsAsGone", given(1, listed(unknown), strayFor(unknown, time.Minute), removedLately(unknown)), nil},
		{"FailedListingChangesNothing", given(2, unlisted("r1"), listingFailing(at(1001))), nil},
		{"FailedListingIsRepeated", given(2, listingFailing(at(1000))), []string{"list: the last listing has failed"}},
		{"FailedListingRemovesNothing", given(2, without("node-1"), nodeDeleted("node-1"), listingFailing(at(1001))), nil},
		{"FailedListingIsRecordedOnANewNode", given(2, unlisted("r1"), node("node-1", noCondition), listingFailing(at(1001))), []string{
			"node-1 NetworkUnavailable=True NoRouteCreated", "event on node-1: Could not create route uid-1 10.244.1.0/24 for node node-1 after 3m20s: no answer",
		}},
		{"FailedListingIsNotRecordedOnAReachableNode", given(1, func(o *observed) { o.memory.listing = listing{} }, listingFailing(at(1001))), nil}, // a new leader during an outage of the cloud
	}
}

func TestListing(t *testing.T) { check(t, listingRows()) }

func TestDeletedNodesAreRemembered(t *testing.T) {
	m := newMemory()
	m.patched["uid-1"] = patched{corev1.ConditionFalse, "RouteCreated", at(0)}
	m.given["uid-1"] = at(0)
	m.nodeDeleted(newNode(1), at(0))
	if len(m.patched)+len(m.given) != 0 {
		t.Error("the condition of a deleted Node is remembered, or since when it had its CIDRs")
	}
	again := newNode(2) // under the same name, with another CIDR
	again.Name = "node-1"
	m.nodeDeleted(again, at(10))
	if got, want := m.deleted["node-1"].cidrs, append(cidrsOf(newNode(1)), cidrsOf(newNode(2))...); !slices.Equal(got, want) {
		t.Errorf("CIDRs %v, want %v: the routes of both may be left", got, want)
	}
	late := at(10).Add(keepDeleted)
	m.listed(answer{began: late})
	if _, ok := m.deleted["node-1"]; !ok {
		t.Error("forgotten, though a route may still be listed late")
	}
	m.listed(answer{began: late.Add(time.Second), routes: []route{newRoute("r1", "node-1", "10.244.1.0/24")}})
	if _, ok := m.deleted["node-1"]; !ok {
		t.Error("forgotten, though a route still leads there")
	}
	m.listed(answer{began: late.Add(time.Second)})
	if _, ok := m.deleted["node-1"]; ok {
		t.Error("remembered for ever")
	}
}

// A row is a sequence of answers, each after a call of 30 seconds.
func TestListingIsAsOldAsItsCall(t *testing.T) {
	down, underWay := answer{failed: &failure{kind: "Unavailable"}}, answer{failed: &failure{kind: "Slow"}, underWay: true}
	for _, tt := range []struct {
		name    string
		answers []answer
		want    time.Time // of the listing
	}{
		{"AnswerIsAsOldAsItsCall", []answer{{}}, at(0)},
		{"LateAnswerIsAsOldAsTheFirstCall", []answer{underWay, underWay, {}}, at(0)},
		{"AnswerAfterAFailureIsNew", []answer{underWay, down, {}}, at(60)},
		{"AnswerAfterALateAnswerIsNew", []answer{underWay, {}, {}}, at(60)},
		{"FailureIsNoAnswer", []answer{{}, down}, at(0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			for i, a := range tt.answers {
				a.began, a.ended = at(float64(30*i)), at(float64(30*i+30))
				m.listed(a)
			}
			if got := m.listing.at; !got.Equal(tt.want) {
				t.Errorf("the listing is from %v, want %v", got, tt.want)
			}
		})
	}
}

func TestListingEndsFailures(t *testing.T) {
	m := newMemory()
	for i := range 2 {
		m.listed(answer{ended: at(float64(i)), failed: &failure{kind: "Unavailable"}})
	}
	if f := m.listingFailure; !m.listingFails() || f.count != 2 || f.since != at(0) || f.until != at(3) {
		t.Errorf("%+v, want two failures since the first, and a pause of two seconds", f)
	}
	m.listed(answer{began: at(2), ended: at(3), next: at(60)})
	if m.listingFails() || m.nextListing != at(60) || m.listing.answered != at(3) {
		t.Errorf("%+v, want no failure, the listing and the time of the next", m)
	}
}

func TestListingForgetsWhatItMustShow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		began time.Time
		want  int
	}{
		{"ChangeThatMayBeListedLateIsRemembered", at(29.9), 1},
		{"ChangeThatMustBeListedIsForgotten", at(30), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			m.created[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(0)
			m.removed[unknown.identity] = at(0)
			m.listed(answer{began: tt.began})
			if len(m.created) != tt.want || len(m.removed) != tt.want {
				t.Errorf("created %v, removed %v, want %d of each", m.created, m.removed, tt.want)
			}
		})
	}
}

package ipam

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

type edit func(*observed)

// given returns the observation of a Node that has waited for a minute. The Node gets
// CIDRs next, unless an edit changes that.
func given(edits ...edit) observed {
	o := observed{
		now:    noon,
		node:   &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", CreationTimestamp: metav1.NewTime(ago(time.Minute))}},
		entry:  entry{uid: "u", name: "n", without: ago(50 * time.Second)},
		others: others{proven: ago(time.Hour)},
		self:   "me",
	}
	for _, change := range edits {
		change(&o)
	}
	return o
}

func noNode(o *observed) { o.node = nil }

func has(all ...string) edit { return func(o *observed) { o.node.Spec.PodCIDRs = all } }

func hasOld(one string) edit { return func(o *observed) { o.node.Spec.PodCIDR = one } }

func holding(all ...string) edit { return func(o *observed) { o.entry.cidrs = cidrs(all...) } }

func written(o *observed) { o.entry.written = true }

func suspected(o *observed) { o.entry.suspect, o.suspects, o.suspect = true, 1, "n" }

func suspects(n int) edit { return func(o *observed) { o.suspects, o.suspect = n, "other" } }

func fencedFor(who string) edit {
	return func(o *observed) { o.node.Annotations = map[string]string{AnnotationFence: who} }
}

func former(uids ...types.UID) edit { return func(o *observed) { o.former = uids } }

func lives(uid types.UID, all ...string) edit {
	return func(o *observed) { o.live = &live{uid: uid, cidrs: all, manager: "kube-controller-manager"} }
}

func excluded(o *observed) { o.node.Labels = map[string]string{ownership.LabelExclude: ""} }

func terminating(o *observed) { o.node.DeletionTimestamp = &metav1.Time{Time: noon} }

func inRange(o *observed) { o.inRange = true }

func overlapsWith(name string, all ...string) edit {
	return func(o *observed) { o.overlaps = &entry{name: name, cidrs: cidrs(all...)} }
}

func full(o *observed) { o.full = cidr("10.0.0.0/22") }

func unproven(o *observed) { o.others.proven = time.Time{} }

func waitsSince(d time.Duration) edit {
	return func(o *observed) {
		o.node.CreationTimestamp, o.entry.without = metav1.NewTime(ago(d)), ago(d)
	}
}

func sightedAt(node string, d time.Duration) edit {
	return func(o *observed) {
		o.others = o.others.saw(sighting{node: node, cidrs: []string{"10.0.9.0/24"}, manager: "kube-controller-manager", at: ago(d)})
	}
}

func toldBefore(reason string, d time.Duration) edit {
	return func(o *observed) { o.memory = memory{uid: "u", told: showing.News{reason: ago(d)}} }
}

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edits []edit
		want  action
		says  string // a part of why
		event string // the reason of the event
		after time.Duration
	}{
		// A Node without CIDRs.
		{name: "CIDRsAreReservedBeforeTheyAreWritten", want: reserve},
		{name: "ReservedCIDRsAreWritten", edits: []edit{holding("10.0.1.0/24")}, want: write},
		{name: "FencedNodeGetsCIDRs", edits: []edit{fencedFor("me")}, want: reserve},
		{name: "CacheThatIsBehindGivesNothing", edits: []edit{holding("10.0.1.0/24"), written}, want: doNothing, says: "cache"},
		{name: "NodeThatIsBeingDeletedGetsNothing", edits: []edit{terminating}, want: doNothing, says: "being deleted"},
		{name: "ExcludedNodeGetsNothing", edits: []edit{excluded}, want: doNothing, says: ownership.LabelExclude},
		{name: "FullClusterIsSaid", edits: []edit{full}, want: wait, says: "10.0.0.0/22", event: "CIDRNotAvailable"},
		{name: "FullClusterIsSaidOnce", edits: []edit{full, toldBefore("CIDRNotAvailable", time.Minute)}, want: wait, says: "10.0.0.0/22"},
		{name: "FullClusterIsSaidAgain", edits: []edit{full, toldBefore("CIDRNotAvailable", showing.RepeatAfter)}, want: wait, event: "CIDRNotAvailable"},
		{name: "AnotherReasonIsSaid", edits: []edit{full, toldBefore("CIDRAssignmentFailed", time.Minute)}, want: wait, event: "CIDRNotAvailable"},
		{name: "AnotherNodeWasTold", edits: []edit{full, toldBefore("CIDRNotAvailable", time.Minute), func(o *observed) { o.memory.uid = "before" }}, want: wait, event: "CIDRNotAvailable"},
		// Earlier leaders.
		{name: "SuspectNodeIsFenced", edits: []edit{suspected}, want: fence},
		{name: "SuspectNodeIsFencedAlthoughItIsBeingDeleted", edits: []edit{suspected, terminating}, want: fence},
		{name: "FenceThatIsWrittenIsTrusted", edits: []edit{suspected, fencedFor("me")}, want: trust},
		{name: "NodeThatTakesNoFenceIsFencedBeforeItGetsCIDRs", edits: []edit{suspected, suspects(0)}, want: fence},
		{name: "FenceOfAnotherIsReplaced", edits: []edit{suspected, fencedFor("another")}, want: fence},
		{name: "NewNodeWithTheFenceOfAnotherIsFenced", edits: []edit{fencedFor("another")}, want: fence},
		{name: "ExcludedNodeIsNotWritten", edits: []edit{suspected, excluded}, want: trust},
		{name: "NothingIsGivenWhileANodeIsSuspect", edits: []edit{suspects(3)}, want: wait, says: "3 Nodes, among them other", event: "CIDRAssignmentHeld"},
		{name: "NothingIsGivenWhileANodeIsSuspectThoughReserved", edits: []edit{suspects(3), holding("10.0.1.0/24")}, want: wait, event: "CIDRAssignmentHeld"},
		{name: "ShortWaitIsNotSaid", edits: []edit{suspects(3), waitsSince(20 * time.Second)}, want: wait, after: 10 * time.Second},
		// Other allocators.
		{name: "FirstNodeWaitsForOthers", edits: []edit{unproven, waitsSince(4 * time.Second)}, want: wait, says: "another allocator", after: 6 * time.Second},
		{name: "AgeOfANodeCounts", edits: []edit{unproven, func(o *observed) { o.entry.without = noon }}, want: prove},
		{name: "ClockOfTheAPIServerMayBeAhead", edits: []edit{unproven, func(o *observed) { o.node.CreationTimestamp.Time = noon.Add(time.Hour) }}, want: prove},
		{name: "NodeThatWasGivenNothingProvesThatNobodyGives", edits: []edit{unproven, waitsSince(shortWait)}, want: prove},
		{name: "OneSightingMakesNodesWait", edits: []edit{sightedAt("a", 3*time.Second)}, want: wait, after: 7 * time.Second},
		{name: "OneSightingEndsSoon", edits: []edit{sightedAt("a", shortWait)}, want: prove},
		{name: "OneNodeTwiceIsOneSighting", edits: []edit{sightedAt("a", 20*time.Second), sightedAt("a", shortWait)}, want: prove},
		{name: "TwoSightingsHoldAllNodes", edits: []edit{sightedAt("a", 20*time.Second), sightedAt("b", 15*time.Second)}, want: wait, says: "kube-controller-manager has given 10.0.9.0/24 to node b", event: "CIDRAllocatorConflict", after: longWait - 15*time.Second},
		{name: "TwoSightingsHoldReservedCIDRs", edits: []edit{holding("10.0.1.0/24"), sightedAt("a", 20*time.Second), sightedAt("b", 15*time.Second)}, want: wait, event: "CIDRAllocatorConflict", after: longWait - 15*time.Second},
		{name: "OtherAllocatorHasAMoment", edits: []edit{waitsSince(time.Second), sightedAt("a", 20*time.Second), sightedAt("b", 15*time.Second)}, want: wait, after: quiet - time.Second},
		{name: "LongWaitProvesThatTheOtherHasEnded", edits: []edit{sightedAt("a", longWait+time.Second), sightedAt("b", longWait), waitsSince(time.Hour)}, want: prove},
		{name: "OldSightingsDoNotCountTogether", edits: []edit{sightedAt("a", longWait+2*time.Minute), sightedAt("b", time.Minute)}, want: prove},
		// A Node with CIDRs.
		{name: "KnownCIDRsNeedNothing", edits: []edit{has("10.0.1.0/24"), holding("10.0.1.0/24"), written}, want: doNothing},
		{name: "OwnCIDRsAreAdopted", edits: []edit{has("10.0.1.0/24", "fd00::/64"), holding("10.0.1.0/24", "fd00::/64")}, want: adopt},
		{name: "NodeThatCameWithCIDRsIsAdopted", edits: []edit{has("10.0.1.0/24"), func(o *observed) { o.entry = entry{} }}, want: adopt},
		{name: "OldFieldIsRead", edits: []edit{hasOld("10.0.1.0/24"), func(o *observed) { o.entry = entry{} }}, want: adopt},
		{name: "EarlierLeaderMayHaveGivenThem", edits: []edit{has("10.0.1.0/24"), suspected}, want: adopt},
		{name: "StrangeCIDRsAreReadFirst", edits: []edit{has("10.0.1.0/24")}, want: read},
		{name: "StrangeCIDRsInPlaceOfReservedOnes", edits: []edit{has("10.0.1.0/24"), holding("10.0.2.0/24")}, want: read},
		{name: "StrangeCIDRsAreASighting", edits: []edit{has("10.0.1.0/24"), lives("u", "10.0.1.0/24")}, want: adopt, says: "not given"},
		{name: "StrangeCIDRsOfAStaleCache", edits: []edit{has("10.0.1.0/24"), lives("u2", "10.0.1.0/24")}, want: wait, after: behind},
		{name: "StrangeCIDRsThatAreGone", edits: []edit{has("10.0.1.0/24"), lives("u")}, want: wait, after: behind},
		{name: "ExcludedNodeMayGetOtherCIDRs", edits: []edit{has("192.168.1.0/24"), excluded}, want: adopt},
		{name: "ExcludedNodeMayNotGetOurs", edits: []edit{has("10.0.1.0/24"), excluded, inRange}, want: read},
		{name: "OverlapIsReadFirst", edits: []edit{has("10.0.1.0/24"), suspected, overlapsWith("b", "10.0.0.0/23")}, want: read},
		{name: "OverlapIsSaid", edits: []edit{has("10.0.1.0/24"), suspected, overlapsWith("b", "10.0.0.0/23"), lives("u", "10.0.1.0/24")}, want: adopt, says: "node b (10.0.0.0/23)", event: "CIDROverlap"},
		// A Node that is gone.
		{name: "GoneNodeNeedsNothing", edits: []edit{noNode}, want: doNothing},
		{name: "GoneNodeIsReadFirst", edits: []edit{noNode, former("u")}, want: read},
		{name: "GoneNodeReleasesItsCIDRs", edits: []edit{noNode, former("u"), lives("")}, want: release},
		{name: "NodeThatIsNotGoneKeepsItsCIDRs", edits: []edit{noNode, former("u"), lives("u", "10.0.1.0/24")}, want: wait, after: behind},
		{name: "RecreatedNodeIsReadFirst", edits: []edit{former("u1")}, want: read},
		{name: "RecreatedNodeReleasesTheFormerCIDRs", edits: []edit{former("u1"), lives("u")}, want: release},
		{name: "CacheThatIsAheadOfNothingReleasesNothing", edits: []edit{former("u1"), lives("u1")}, want: wait, after: behind},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(given(tt.edits...))
			event := ""
			if p.event != nil {
				event = p.event.Reason
			}
			if p.do != tt.want || event != tt.event || p.after != tt.after {
				t.Errorf("%q because %q with the event %q after %v, want %q, %q, %v", p.do, p.why, event, p.after, tt.want, tt.event, tt.after)
			}
			if p.why == "" || !strings.Contains(p.why, tt.says) {
				t.Errorf("because %q, want %q in it", p.why, tt.says)
			}
		})
	}
}

// The CIDRs of a former Node are released only if the API server no longer has that
// Node.
func TestReleaseSparesTheLiveNode(t *testing.T) {
	p := decide(given(noNode, former("u1", "u2", "u3"), lives("u2")))
	if p.do != release || len(p.gone) != 2 || p.gone[0] != "u1" || p.gone[1] != "u3" {
		t.Errorf("%q %v", p.do, p.gone)
	}
}

// If the field manager is unknown, the text says so.
func TestSightingWithoutManager(t *testing.T) {
	if got := (sighting{node: "a", cidrs: []string{"10.0.0.0/24", "fd00::/64"}}).String(); got != "an unknown client has given 10.0.0.0/24,fd00::/64 to node a" {
		t.Error(got)
	}
}

// A write that fails is reported and tried again. If a write is refused because the
// Node has changed, it is tried again without a report.
func TestAfterAWrite(t *testing.T) {
	if p := failed(given(), isFailed("This", errTest)); !p.retry || p.event == nil || p.event.Reason != "CIDRAssignmentFailed" || p.memory.reason == "" {
		t.Errorf("%+v", p)
	}
	if p := stale(given()); !p.retry || p.event != nil {
		t.Errorf("%+v", p)
	}
}

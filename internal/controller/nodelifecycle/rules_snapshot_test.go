package nodelifecycle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func isDeleting(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }

func silentNode(p presence, checked bool, edits ...func(*corev1.Node)) other {
	return other{node: old("x", edits...), presence: p, checked: checked}
}

// TestSnapshot checks how one Node counts for decisions about another one.
func TestSnapshot(t *testing.T) {
	nameless := old("n1", providerID(""))
	unknownRegion := old("n1", located(corev1.LabelTopologyRegion, ""))
	nowhere := old("n1", located(corev1.LabelTopologyRegion, ""), located(corev1.LabelTopologyZone, ""))
	another := located(corev1.LabelTopologyRegion, "r2")
	anotherZone := located(corev1.LabelTopologyZone, "z2")
	const none = "absent 0 of 0, silent 0, trusted 0, denied 0, foreign 0, IDs false"
	for _, tt := range []struct {
		name    string
		node    *corev1.Node // the Node to decide about, if it is not n1
		other   other
		claim   ownership.Claim
		inCheck bool // only in a final check; a pass counts the Node
		want    string
	}{
		{name: "NodeThatReports", other: unasked("x"), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true"},
		{name: "SilentNode", other: silentNode(present, true), want: "absent 0 of 1, silent 1, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "SilentNodeThatWasNotAskedAbout", other: silentNode(unknown, false), want: "absent 1 of 1, silent 1, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "SilentNodeAboutWhichTheQuestionFailed", other: silentNode(unknown, true), want: "absent 0 of 1, silent 1, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "AbsentNode", other: silentNode(absent, true), want: "absent 1 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "AbsentNodeThatIsAnnounced", other: silentNode(absent, true, taint("karpenter.sh/disrupted")), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true, all leave"},
		{name: "UninitialisedNode", other: unasked("x", taint(api.TaintExternalCloudProvider)), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "UninitialisedNodeThatIsSilent", other: silentNode(present, true, taint(api.TaintExternalCloudProvider)), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "DeniedNode", other: deniedFor(witness("x", absent, 0), 10*time.Minute-1), want: "absent 0 of 1, silent 0, trusted 0, denied 1, foreign 0, IDs true"},
		{name: "NodeDeniedForTenMinutes", other: deniedFor(witness("x", absent, 0), 10*time.Minute), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 1, IDs true"},
		{name: "NodeDeniedOnceTenMinutesAgo", other: witness("x", absent, 10*time.Minute), want: "absent 0 of 1, silent 0, trusted 0, denied 1, foreign 0, IDs true"},
		{name: "NodeLastDeniedNineMinutesAgo", other: deniedFor(witness("x", absent, 9*time.Minute), 19*time.Minute), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 1, IDs true"},
		{name: "NodeLastDeniedTenMinutesAgo", other: deniedFor(witness("x", absent, 10*time.Minute), time.Hour), want: "absent 0 of 1, silent 0, trusted 0, denied 1, foreign 0, IDs true"},
		{name: "NodeThatIsBeingDeleted", other: unasked("x", isDeleting), want: "absent 0 of 0, silent 0, trusted 0, denied 0, foreign 0, IDs true, all leave"},
		{name: "NodeOfAnother", other: unasked("x"), claim: ownership.Claim{Schemes: []string{"q"}}, want: none + ", all leave"},
		{name: "NodeOfAnotherScheme", other: unasked("x", providerID("q://x")), want: "absent 0 of 0, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeWithoutProviderID", other: unasked("x", providerID("")), want: none},
		{name: "SameInstance", inCheck: true, other: unasked("x", providerID("p://n1")), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "SameInstanceThatIsSilent", other: silentNode(present, true, providerID("p://n1")), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeItself", inCheck: true, other: unasked("n1"), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeItselfWithoutProviderID", inCheck: true, node: nameless, other: unasked("n1", providerID("")), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs false"},
		{name: "NodeItselfWithoutItsAnswer", other: other{node: n1, checked: true}, want: "absent 1 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeItselfWithItsAnswer", other: other{node: n1, presence: absent, checked: true}, want: "absent 1 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeOfAnotherRegion", other: unasked("x", another), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true, elsewhere"},
		{name: "DeniedNodeOfAnotherRegion", other: witness("x", absent, 0, another), want: "absent 0 of 1, silent 0, trusted 0, denied 1, foreign 0, IDs true, elsewhere"},
		{name: "SilentNodeOfAnotherRegion", other: silentNode(present, true, another), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "ForeignNodeOfAnotherRegion", other: deniedFor(witness("x", absent, 0, another), time.Hour), want: "absent 0 of 1, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeOfAnotherZone", other: unasked("x", anotherZone), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true"},
		{name: "NodeOfTheZoneOfANodeWithoutRegion", node: unknownRegion, other: unasked("x", another), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true"},
		{name: "NodeOfAnotherZoneThanANodeWithoutRegion", node: unknownRegion, other: unasked("x", anotherZone), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true, elsewhere"},
		{name: "AnyNodeIfThePlaceIsNotKnown", node: nowhere, other: unasked("x", another, anotherZone), want: "absent 0 of 1, silent 0, trusted 1, denied 0, foreign 0, IDs true"},
		{name: "NodeWithProviderIDForOneWithout", node: nameless, other: unasked("x"), want: "absent 0 of 0, silent 0, trusted 1, denied 0, foreign 0, IDs true"},
		{name: "ItProvesNothingIfItsNameIsNotFound", node: nameless, other: witness("x", absent, 0), want: "absent 0 of 0, silent 0, trusted 0, denied 0, foreign 0, IDs true"},
		{name: "NodeWithoutProviderIDForOneWithout", node: nameless, other: witness("x", absent, 0, providerID("")), want: "absent 0 of 1, silent 0, trusted 0, denied 1, foreign 0, IDs false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := n1
			if tt.node != nil {
				node = tt.node
			}
			for _, isFinal := range []bool{tt.inCheck, true} {
				o := peersOf(tt.other).seenBy(observed{now: noon, node: node, limits: DefaultLimits(), claim: tt.claim}, isFinal)
				if got := summary(o.peers); got != tt.want {
					t.Errorf("in a final check: %v\n got %s\nwant %s", isFinal, got, tt.want)
				}
			}
		})
	}
}

func summary(p peers) string {
	by := map[standing]int{}
	for _, c := range p.candidates.peers {
		by[c.standing]++
	}
	text := fmt.Sprintf("absent %d of %d, silent %d, trusted %d, denied %d, foreign %d, IDs %v",
		p.absentees.absent, p.absentees.nodes, p.candidates.silent, p.candidates.more+by[countsTrusted], by[countsDenied], by[countsForeign], p.hasIDs)
	if p.allLeave {
		text += ", all leave"
	}
	if p.elsewhere {
		text += ", elsewhere"
	}
	return text
}

// While half of the cluster fails, all passes share a snapshot for a second. So the cost of
// each Node does not depend on their number.
func TestSnapshotIsMadeOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"), old("n2"))...)
		defer func() { r.stop() }()
		r.after(time.Second)
		c := r.tested
		c.snapshot = nil
		c.peersOf(n1)
		made := c.snapshot
		time.Sleep(freshFor - 1)
		if c.peersOf(n1); c.snapshot != made {
			t.Error("another snapshot within a second")
		}
		time.Sleep(time.Nanosecond)
		if c.peersOf(n1); c.snapshot == made {
			t.Error("the snapshot is used for longer than a second")
		}
		made = c.snapshot
		c.recordAnswer(old("w1"), said(present))
		if c.peersInCheck(n1); c.snapshot != made || c.ledger.about(old("w1"), byID).presence != present {
			t.Error("an answer makes another snapshot, or is not seen")
		}
		if c.recordAnswer(old("gone"), said(present)); c.snapshot != nil || len(c.ledger.answers) > 3 {
			t.Error("a Node that is gone stays in the snapshot, or its answers are kept")
		}
	})
}

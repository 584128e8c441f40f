package ipam

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// changes are edits of a Node. Some of them change only fields that no rule reads.
var changes = map[string]func(*corev1.Node){
	"Nothing":       func(*corev1.Node) {},
	"UID":           func(n *corev1.Node) { n.UID = "u2" },
	"CIDR":          func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.0.1.0/24"} },
	"OtherCIDR":     func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.0.2.0/24"} },
	"OldCIDR":       func(n *corev1.Node) { n.Spec.PodCIDR = "10.0.1.0/24" },
	"Fence":         func(n *corev1.Node) { n.Annotations = map[string]string{AnnotationFence: "me"} },
	"OtherFence":    func(n *corev1.Node) { n.Annotations = map[string]string{AnnotationFence: "another"} },
	"Annotation":    func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} },
	"Deletion":      func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} },
	"OtherDeletion": func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon.Add(1)} },
	"Excluded":      func(n *corev1.Node) { n.Labels = map[string]string{ownership.LabelExclude: ""} },
	"NotExcluded":   func(n *corev1.Node) { n.Labels = map[string]string{ownership.LabelExclude: "false"} },
	"Label":         func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} },
	"ProviderID":    func(n *corev1.Node) { n.Spec.ProviderID = "p://1" },
	"Taint":         func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "t"}} },
	"Heartbeat": func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.NewTime(noon)}}
	},
}

func node(change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", CreationTimestamp: metav1.NewTime(ago(time.Minute))}}
	change(n)
	return n
}

// If a change of a Node changes the plan, the change must ask for a pass.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	states := []edit{
		func(*observed) {}, written, suspected, suspects(1), unproven, holding("10.0.1.0/24"), former("u2"), lives("u", "10.0.1.0/24"),
		full, overlapsWith("b", "10.0.1.0/24"), inRange,
	}
	woken := 0
	for from, before := range changes {
		for to, after := range changes {
			one, two := node(before), node(after)
			if wakes(ownership.Claim{}, one, two) {
				woken++
				continue
			}
			for _, state := range states {
				p, q := given(state), given(state)
				p.node, q.node = one, two
				if diff := cmp.Diff(decide(p), decide(q), cmp.AllowUnexported(plan{}, memory{}, sighting{})); diff != "" {
					t.Errorf("from %s to %s: no pass, but the plan changes (-before +after):\n%s", from, to, diff)
				}
			}
		}
	}
	if woken == 0 || woken == len(changes)*len(changes) {
		t.Errorf("%d of all changes wake", woken)
	}
	if wakes(ownership.Claim{}, node(changes["Nothing"]), node(changes["Heartbeat"])) {
		t.Error("a heartbeat wakes")
	}
}

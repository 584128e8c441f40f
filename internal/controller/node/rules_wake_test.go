package node

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// changes has edits of a Node. Each edit changes one field. The name and the creation
// time never change.
var changes = map[string]func(*corev1.Node){
	"uid":                  func(n *corev1.Node) { n.UID = "u2" },
	"deletion":             func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} },
	"provider ID":          func(n *corev1.Node) { n.Spec.ProviderID = "p://2" },
	"no provider ID":       func(n *corev1.Node) { n.Spec.ProviderID = "" },
	"no taints":            func(n *corev1.Node) { n.Spec.Taints = nil },
	"uninitialised":        func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{uninitialized} },
	"cordon":               func(n *corev1.Node) { n.Spec.Unschedulable = true },
	"excluded":             label(ownership.LabelExclude, ""),
	"zone":                 label(corev1.LabelTopologyZone, "z9"),
	"zone's twin":          label(corev1.LabelFailureDomainBetaZone, "z9"),
	"region":               label(corev1.LabelTopologyRegion, "r9"),
	"type":                 label(corev1.LabelInstanceType, "huge"),
	"own label":            label("a", "9"),
	"record of labels":     func(n *corev1.Node) { withAnnotation(n, AnnotationLabels, `{"a":"9"}`) },
	"node IP":              func(n *corev1.Node) { withAnnotation(n, api.AnnotationAlphaProvidedIPAddr, "127.0.1.1") },
	"other node IP":        func(n *corev1.Node) { withAnnotation(n, api.AnnotationAlphaProvidedIPAddr, "127.0.7.7") },
	"annotation of others": func(n *corev1.Node) { withAnnotation(n, "a", "b") },
	"no addresses":         addresses(),
	"other addresses":      addresses(external),
	"condition False":      shows(corev1.ConditionFalse, "CloudDenied", "because", noon),
	"condition True":       shows(corev1.ConditionTrue, "Initialized", "", noon),
	"heartbeat": func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady})
	},
	"new version, no change": func(n *corev1.Node) { n.ResourceVersion = "9" },
}

// TestWhateverChangesThePlanWakes compares the plans for two Nodes that differ in one
// field. If the plans differ, the change must wake the Node. The test does so for every
// answer of the cloud. It ignores the condition and the events of a Node that waits,
// because that Node has another pass after at most longestPause anyway.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	known := map[string]answer{"no answer": {}}
	maps.Copy(known, answers)
	bases := map[string]*corev1.Node{"fresh": fresh(), "settled": settled()}
	for name, change := range changes {
		bases["fresh, "+name], bases["settled, "+name] = fresh(change), settled(change)
	}
	digest := func(n *corev1.Node, a answer) string {
		o := outcomeOf(decide(observed{now: noon, node: n, answer: a, policy: follows, always: true})) // If always is set, the rules read more fields of a Node.
		if nodefact.IsUninitialized(n) {
			o.Condition, o.Events = "", nil
		}
		text := fmt.Sprintf("%s %s %v %s %s %v %v", o.Do, o.Why, o.Addresses, o.Condition, o.ProviderID, o.Taints, o.Events)
		var set []string
		for _, m := range []map[string]*string{o.Labels, o.Annotations} {
			for _, key := range []string{"a", "b", "keep", AnnotationLabels, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable} {
				if value := m[key]; value != nil {
					set = append(set, key+"="+*value)
				}
			}
		}
		return text + " " + strings.Join(set, " ")
	}
	differ := 0
	for baseName, before := range bases {
		for changeName, change := range changes {
			now := before.DeepCopy()
			change(now)
			for said, a := range known {
				if was, is := digest(before, a), digest(now, a); is != was {
					differ++
					if !wakes(ownership.Claim{}, before, now) {
						t.Errorf("%s, then %s, the cloud %s: %q became %q without a pass", baseName, changeName, said, was, is)
					}
				}
			}
		}
	}
	if differ < 1000 {
		t.Errorf("only %d pairs differ in their plans", differ)
	}
}

// A heartbeat costs only a comparison, which allocates nothing.
func TestHeartbeatIsAComparison(t *testing.T) {
	before := settled(label("a", "b"), shows(corev1.ConditionTrue, "Initialized", "", noon))
	before.Spec.Taints = []corev1.Taint{{Key: "other", TimeAdded: new(metav1.NewTime(noon))}}
	now := before.DeepCopy()
	now.Status.Conditions = append(now.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, LastHeartbeatTime: metav1.NewTime(noon)})
	claim := ownership.Claim{Schemes: []string{"p"}}
	allocated := testing.AllocsPerRun(100, func() {
		if wakes(claim, before, now) {
			t.Error("the heartbeat wakes the Node")
		}
	})
	if allocated > 0 {
		t.Errorf("%v allocations for a heartbeat, want none", allocated)
	}
}

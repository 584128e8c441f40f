package nodelifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// changes has edits of a Node. Each edit changes one field. The name and the creation
// time never change.
var changes = map[string]func(*corev1.Node){
	"uid":               func(n *corev1.Node) { n.UID = "u2" },
	"providerID":        providerID("p://2"),
	"no providerID":     providerID(""),
	"other scheme":      providerID("q://1"),
	"deletion":          func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} },
	"excluded":          label(ownership.LabelExclude, ""),
	"not excluded":      label(ownership.LabelExclude, "false"),
	"region":            located(corev1.LabelTopologyRegion, "r2"),
	"no region":         located(corev1.LabelTopologyRegion, ""),
	"zone":              located(corev1.LabelTopologyZone, "z2"),
	"uninitialised":     taint(api.TaintExternalCloudProvider),
	"announced":         taint(nodefact.TaintToBeDeleted),
	"drained":           condition("Drained", corev1.ConditionTrue),
	"not drained":       condition("Drained", corev1.ConditionFalse),
	"in maintenance":    condition("MaintenanceInProgress", corev1.ConditionTrue),
	"shutdown":          taint(api.TaintNodeShutdown),
	"other taint":       taint("other"),
	"no taints":         func(n *corev1.Node) { n.Spec.Taints = nil },
	"identity":          marked,
	"other label":       label("a", "b"),
	"cordon":            func(n *corev1.Node) { n.Spec.Unschedulable = true },
	"no conditions":     func(n *corev1.Node) { n.Status.Conditions = nil },
	"ready":             ready(corev1.ConditionTrue, 0),
	"ready, older":      ready(corev1.ConditionTrue, time.Hour),
	"not ready":         ready(corev1.ConditionFalse, 0),
	"not ready, older":  ready(corev1.ConditionFalse, 5*time.Minute),
	"not ready, silent": ready(corev1.ConditionFalse, time.Hour),
	"no heartbeat": func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	},
	"unknown":         ready(corev1.ConditionUnknown, 0),
	"shows NoWitness": says(corev1.ConditionTrue, "NoWitness", time.Hour),
	"shows another":   says(corev1.ConditionTrue, "TooManyAbsent", time.Minute),
	"shows unknown":   says(corev1.ConditionUnknown, "CloudDenied", time.Hour),
	"shows the end":   says(corev1.ConditionFalse, "InstanceFound", time.Hour),
}

// situation has all inputs of a decision except the Node itself.
type situation struct {
	answer answer
	memory memory
	peers  cluster
}

// of returns what a pass or a final check of the Node observes in this situation.
func (s situation) of(node *corev1.Node, isFinal bool) observed {
	limits := DefaultLimits()
	limits.AnnouncedByConditions = true // Without this limit, the rules read fewer fields.
	return s.peers.seenBy(observed{now: noon, node: node, answer: s.answer, memory: s.memory, limits: limits}, isFinal)
}

func situations() map[string]situation {
	showing := heldFor("NoWitness")
	showing.holding.since = noon.Add(-time.Hour)
	showing.holding.open = true
	return map[string]situation{
		"first pass": {},
		"found":      {answer: answer{presence: present, asked: noon, power: running}},
		"stopped":    {answer: answer{presence: present, asked: noon, power: shutDown}},
		"absent":     {answer: said(absent)},
		"not ours":   {answer: said(absent), peers: trusted},
		"denied":     {answer: fails("CloudDenied")},
		"complete":   {memory: complete, peers: trusted},
		"begun":      {memory: begun(complete, n1, noon.Add(-time.Minute)), peers: trusted},
		"alone":      {memory: complete, peers: peersOf()},
		"elsewhere":  {memory: complete, peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyRegion, "r2")))},
		"otherZone":  {memory: complete, peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2")))},
		"many":       {memory: complete, peers: absentOf(20, 30)},
		"held":       {memory: showing, peers: peersOf(witness("w1", unknown, 0))},
	}
}

// TestWhateverChangesThePlanWakes compares the plans for two Nodes that differ in one
// field. If the plans differ, the change must wake the Node. The test does so for both
// decisions, in many situations.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	bases := map[string]*corev1.Node{"silent": old("n1")}
	for name, change := range changes {
		bases[name] = old("n1", change)
	}
	differ := 0
	for baseName, before := range bases {
		for changeName, change := range changes {
			now := before.DeepCopy()
			change(now)
			for situation, s := range situations() {
				for _, c := range []*check{nil, {}, asked} {
					was := effect(decideRow(s.of(before, c != nil), c))
					if is := effect(decideRow(s.of(now, c != nil), c)); is != was {
						differ++
						if !wakes(DefaultLimits(), ownership.Claim{}, before, now) {
							t.Errorf("%s, then %s, in %q (check %v): %q became %q without a pass", baseName, changeName, situation, c, was, is)
						}
					}
				}
			}
		}
	}
	if differ < 1000 {
		t.Errorf("only %d pairs differ in their plans", differ)
	}
}

// effect returns the digest of a plan. It leaves out all taints except the shutdown
// taint, because a plan never changes the others.
func effect(p plan) string {
	if p.taints != nil {
		own := slices.DeleteFunc(slices.Clone(*p.taints), func(t corev1.Taint) bool { return !isShutdownTaint(t) })
		p.taints = &own
	}
	return digest(p)
}

func TestWhatDoesNotWake(t *testing.T) {
	for name, pair := range map[string][2]*corev1.Node{
		"HeartbeatOfAReadyKubelet":   {old("n1", ready(corev1.ConditionTrue, time.Minute)), old("n1", ready(corev1.ConditionTrue, 0))},
		"AnotherLabel":               {old("n1"), old("n1", label("a", "b"))},
		"AnotherTaint":               {old("n1"), old("n1", taint("other"))},
		"Cordon":                     {old("n1"), old("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })},
		"NewVersionWithoutAnyChange": {old("n1"), old("n1", func(n *corev1.Node) { n.ResourceVersion = "8" })},
	} {
		t.Run(name, func(t *testing.T) {
			if wakes(DefaultLimits(), ownership.Claim{}, pair[0], pair[1]) {
				t.Error(fmt.Sprint(name, " wakes the Node"))
			}
		})
	}
}

// A heartbeat costs only a comparison. It allocates nothing.
func TestHeartbeatIsAComparison(t *testing.T) {
	before := old("n1", ready(corev1.ConditionTrue, time.Minute), taint("other"), says(corev1.ConditionFalse, "InstanceFound", time.Hour))
	now := before.DeepCopy()
	now.Status.Conditions[0].LastHeartbeatTime.Time = noon
	limits, claim := DefaultLimits(), ownership.Claim{Schemes: []string{"p"}}
	allocated := testing.AllocsPerRun(100, func() {
		if wakes(limits, claim, before, now) {
			t.Error("the heartbeat wakes the Node")
		}
	})
	if allocated > 0 {
		t.Errorf("%v allocations for a heartbeat, want none", allocated)
	}
}

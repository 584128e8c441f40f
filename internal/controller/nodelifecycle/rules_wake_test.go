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

// changes of a Node, each in one field. Name and creation time never change.
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
	"shutdown":          taint(api.TaintNodeShutdown),
	"other taint":       taint("other"),
	"no taints":         func(n *corev1.Node) { n.Spec.Taints = nil },
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

// situations are what else the decisions read.
func situations() map[string]observed {
	showing := heldFor("NoWitness")
	showing.holding.since = noon.Add(-time.Hour)
	showing.holding.open = true
	base := map[string]observed{
		"first pass": {},
		"found":      {answer: answer{presence: present, asked: noon, power: running}},
		"stopped":    {answer: answer{presence: present, asked: noon, power: shutDown}},
		"absent":     {answer: said(absent)},
		"not ours":   {answer: said(absent), peers: trusted},
		"denied":     {answer: fails("CloudDenied")},
		"complete":   {memory: complete, peers: trusted},
		"alone":      {memory: complete, peers: peersOf()},
		"elsewhere":  {memory: complete, peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyRegion, "r2")))},
		"otherZone":  {memory: complete, peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2")))},
		"many":       {memory: complete, peers: absentOf(20, 30)},
		"held":       {memory: showing, peers: peersOf(witness("w1", unknown, 0))},
	}
	for name, o := range base {
		o.now, o.limits = noon, DefaultLimits()
		base[name] = o
	}
	return base
}

// TestWhateverChangesThePlanWakes compares the plans for Nodes that differ in one
// field, in both decisions and in many situations.
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
			for situation, o := range situations() {
				for _, c := range []*check{nil, {}, asked} {
					o.node = before
					was := effect(decideRow(o, c))
					o.node = now
					if is := effect(decideRow(o, c)); is != was {
						differ++
						if !wakes(ownership.Claim{}, before, now) {
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

// effect is the digest of a plan. Of its taints only the shutdown taint counts,
// because the others stay as they are on the Node.
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
		"HeartbeatOfASilentKubelet":  {old("n1", ready(corev1.ConditionUnknown, time.Minute)), old("n1", ready(corev1.ConditionUnknown, 0))},
		"AnotherLabel":               {old("n1"), old("n1", label("a", "b"))},
		"AnotherTaint":               {old("n1"), old("n1", taint("other"))},
		"Cordon":                     {old("n1"), old("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })},
		"NewVersionWithoutAnyChange": {old("n1"), old("n1", func(n *corev1.Node) { n.ResourceVersion = "8" })},
	} {
		t.Run(name, func(t *testing.T) {
			if wakes(ownership.Claim{}, pair[0], pair[1]) {
				t.Error(fmt.Sprint(name, " wakes the Node"))
			}
		})
	}
}

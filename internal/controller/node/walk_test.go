package node

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// axis is one property in which the initial Nodes of TestWalk differ.
type axis struct {
	name  string
	edits map[string]func(*corev1.Node)
}

var axes = []axis{
	{"taint", map[string]func(*corev1.Node){"uninitialized": nil, "released": func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{other} }}},
	{"providerID", map[string]func(*corev1.Node){
		"none": nil,
		"own":  func(n *corev1.Node) { n.Spec.ProviderID = "p://1" },
		"else": func(n *corev1.Node) { n.Spec.ProviderID = "p://2" },
	}},
	{"addresses", map[string]func(*corev1.Node){
		"hostname": nil, "none": addresses(), "own": addresses(internal, external, hostname), "old": addresses(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.9.9"}),
	}},
	{"labels", map[string]func(*corev1.Node){
		"user":     nil,
		"twins":    label(corev1.LabelFailureDomainBetaZone, "z9"),
		"excluded": label(ownership.LabelExclude, ""),
		"recorded": func(n *corev1.Node) {
			n.Labels["a"], n.Labels["gone"] = "1", "1"
			n.Annotations = map[string]string{AnnotationLabels: `{"a":"1","gone":"1"}`}
		},
	}},
	{"kubelet", map[string]func(*corev1.Node){
		"free":   nil,
		"chosen": func(n *corev1.Node) { withAnnotation(n, api.AnnotationAlphaProvidedIPAddr, "127.0.1.1") },
		"unmet":  func(n *corev1.Node) { withAnnotation(n, api.AnnotationAlphaProvidedIPAddr, "127.0.7.7") },
	}},
	{"condition", map[string]func(*corev1.Node){"none": nil, "false": shows(corev1.ConditionFalse, "CloudDenied", "because", noon.Add(-time.Hour))}},
}

func withAnnotation(n *corev1.Node, key, value string) {
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[key] = value
}

// starts calls the function visit with a Node for every combination of the axes.
func starts(t *testing.T, visit func(name string, node *corev1.Node)) {
	t.Helper()
	var visitAll func(rest []axis, name string, node *corev1.Node)
	visitAll = func(rest []axis, name string, node *corev1.Node) {
		if len(rest) == 0 {
			visit(name, node)
			return
		}
		for _, value := range slices.Sorted(maps.Keys(rest[0].edits)) {
			next := node.DeepCopy()
			if edit := rest[0].edits[value]; edit != nil {
				edit(next)
			}
			visitAll(rest[1:], name+rest[0].name+"="+value+" ", next)
		}
	}
	visitAll(axes, "", fresh())
}

// ofAnotherNode is the provider ID of another Node in the cluster.
const ofAnotherNode = "p://3"

// answers has the possible answers of the cloud at any step.
var answers = map[string]answer{
	"describes": machine(with(map[string]string{"a": "2", "b": "1"})),
	"refuses":   refusing("CloudDenied"),
	"is moved":  machine(func(i *instance) { i.zone, i.size = "z2", "large" }),
	"is other":  machine(func(i *instance) { i.providerID = ofAnotherNode }),
	"respells":  machine(func(i *instance) { i.providerID = "p://r1/1" }),
	"is silent": machine(func(i *instance) { i.addresses, i.size, i.zone, i.region = nil, "", "", "" }),
	"is wrong":  machine(func(i *instance) { i.size = "no label!" }),
}

// world has the Node as the API server stores it, and the memory of the tested process.
type world struct {
	node   *corev1.Node
	memory memory
	now    time.Time
}

// step makes one decision, and carries out none, the first, or both of the two writes
// of the plan. If it does not carry out both, the process counts as crashed, and its
// memory is lost.
func (w *world) step(a answer, writes int) plan {
	o := observed{now: w.now, node: w.node.DeepCopy(), memory: w.memory, policy: follows}
	p := decide(o)
	if p.do == ask || w.node.Spec.ProviderID != "" {
		o.answer = a
		if a.instance.providerID == ofAnotherNode && w.node.Spec.ProviderID != "" && w.node.Spec.ProviderID != ofAnotherNode {
			o.holder = "n3"
		}
		p = decide(o)
	}
	if writes > 0 {
		writeStatus(w.node, p)
	}
	if writes > 1 {
		writeChange(w.node, p)
	}
	w.memory = p.memory
	if writes < 2 {
		w.memory = memory{}
	}
	w.now = w.now.Add(time.Minute)
	return p
}

func writeStatus(node *corev1.Node, p plan) {
	if p.addresses != nil {
		node.Status.Addresses = stored(p.addresses)
	}
	if p.condition != nil {
		node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == p.condition.Type })
		node.Status.Conditions = append(node.Status.Conditions, *p.condition)
	}
}

func writeChange(node *corev1.Node, p plan) {
	if p.change.providerID != "" {
		node.Spec.ProviderID = p.change.providerID
	}
	if p.change.taints != nil {
		node.Spec.Taints = *p.change.taints
	}
	merge := func(into *map[string]string, changes map[string]*string) {
		for key, value := range changes {
			if value == nil {
				delete(*into, key)
				continue
			}
			if *into == nil {
				*into = map[string]string{}
			}
			(*into)[key] = *value
		}
	}
	merge(&node.Labels, p.change.labels)
	merge(&node.Annotations, p.change.annotations)
}

// TestWalk tests each combination of an initial Node, an answer of the cloud, and the
// number of writes after which the process crashes. It checks after each step that no
// promise is broken. In the end, the cloud describes the instance. Then the Node must
// be released and left alone, unless it is barred or excluded.
func TestWalk(t *testing.T) {
	count := 0
	starts(t, func(name string, start *corev1.Node) {
		for said, answer := range answers {
			for crash := range 3 {
				count++
				w := &world{node: start.DeepCopy(), now: noon}
				path := fmt.Sprintf("%s, the cloud %s, dies after %d writes", name, said, crash)
				w.checked(t, path, answer, crash)
				w.checked(t, path, answer, 2)
				w.settles(t, path)
			}
		}
	})
	if count < 1000 {
		t.Errorf("only %d walks", count)
	}
}

// checked makes a step and checks its effects.
func (w *world) checked(t *testing.T, path string, a answer, writes int) plan {
	t.Helper()
	before := w.node.DeepCopy()
	p := w.step(a, writes)
	wasHeld, isHeld := nodefact.IsUninitialized(before), nodefact.IsUninitialized(w.node)
	switch {
	case p.why == "" && p.do != doNothing:
		t.Errorf("%s: %v without a why", path, p.do)
	case before.Spec.ProviderID != "" && w.node.Spec.ProviderID != before.Spec.ProviderID:
		t.Errorf("%s: provider ID changed from %q", path, before.Spec.ProviderID)
	case !wasHeld && isHeld:
		t.Errorf("%s: the taint is back", path)
	case before.Labels["keep"] != w.node.Labels["keep"]:
		t.Errorf("%s: a label of the user was changed", path)
	case isExcludedByTest(before) && (p.do != doNothing || slices.ContainsFunc(p.events, func(e message.Event) bool { return e.Reason != nodeExcluded.Name })):
		t.Errorf("%s: %v on an excluded Node", path, p.do)
	case wasHeld && !isHeld && a.given != described:
		t.Errorf("%s: released without an answer", path)
	case wasHeld && !isHeld:
		w.releasedWhole(t, path, a.instance, before)
	}
	return p
}

// releasedWhole checks promise S6: when the taint is removed, the Node has all the data
// that the cloud has given.
func (w *world) releasedWhole(t *testing.T, path string, i instance, before *corev1.Node) {
	t.Helper()
	n := w.node
	switch own := before.Spec.ProviderID; {
	case own == "" && n.Spec.ProviderID != i.providerID, own != "" && own != i.providerID && i.providerID == ofAnotherNode:
		t.Errorf("%s: released with provider ID %q of %q", path, n.Spec.ProviderID, i.providerID)
	}
	if n.Labels[corev1.LabelInstanceTypeStable] != i.size && i.size != "" || n.Labels[corev1.LabelTopologyZone] != i.zone && i.zone != "" {
		t.Errorf("%s: released with labels %v", path, n.Labels)
	}
	for _, address := range i.addresses {
		if !slices.Contains(n.Status.Addresses, address) && n.Annotations[api.AnnotationAlphaProvidedIPAddr] == "" {
			t.Errorf("%s: released without address %v", path, address)
		}
	}
	if !slices.Contains(n.Spec.Taints, other) {
		t.Errorf("%s: released without the taint of somebody else", path)
	}
}

func isExcludedByTest(n *corev1.Node) bool {
	_, excluded := n.Labels[ownership.LabelExclude]
	return excluded
}

// settles repeats steps in which the cloud describes the instance, until nothing is
// left to do.
func (w *world) settles(t *testing.T, path string) {
	t.Helper()
	const bound = 4
	for range bound {
		p := w.checked(t, path, answers["describes"], 2)
		if p.do == doNothing {
			if nodefact.IsUninitialized(w.node) && !isExcludedByTest(w.node) {
				t.Errorf("%s: left uninitialised", path)
			}
			return
		}
		if p.do == wait && w.barred() {
			return
		}
	}
	t.Errorf("%s: not settled after %d steps", path, bound)
}

// barred reports whether the kubelet was told to use an address that the cloud never
// offers.
func (w *world) barred() bool {
	return w.node.Annotations[api.AnnotationAlphaProvidedIPAddr] == "127.0.7.7"
}

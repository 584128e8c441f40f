package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

var (
	noon          = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	uninitialized = corev1.Taint{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	other         = corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoExecute}
	internal      = corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}
	external      = corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}
	internal6     = corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"}
	external6     = corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "2001:db8::1"}
	nothing       = corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "<nil>"}
	hostname      = corev1.NodeAddress{Type: corev1.NodeHostName, Address: "n1"}
	compare       = cmp.Options{cmp.AllowUnexported(plan{}, change{}, message.Event{}, memory{}, message.Cause{}), cmpopts.EquateComparable(allowance.Allowance{}), cmpopts.EquateEmpty()}
	follows       = LabelPolicy{Type: true, Additional: true}
)

// fresh returns a Node as a kubelet registers it.
func fresh(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1", ResourceVersion: "1", Labels: map[string]string{"keep": "user"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{uninitialized, other}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{hostname}},
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

// settled returns the Node after its initialisation with the answer machine().
func settled(edits ...func(*corev1.Node)) *corev1.Node {
	node := fresh(func(n *corev1.Node) {
		n.Spec.ProviderID = "p://1"
		n.Spec.Taints = []corev1.Taint{other}
		n.Labels = map[string]string{
			"keep":                              "user",
			corev1.LabelInstanceType:            "small",
			corev1.LabelInstanceTypeStable:      "small",
			corev1.LabelFailureDomainBetaZone:   "z1",
			corev1.LabelTopologyZone:            "z1",
			corev1.LabelFailureDomainBetaRegion: "r1",
			corev1.LabelTopologyRegion:          "r1",
		}
		n.Status.Addresses = []corev1.NodeAddress{internal, external, hostname}
	})
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func machine(edits ...func(*instance)) answer {
	i := instance{providerID: "p://1", size: "small", zone: "z1", region: "r1", addresses: []corev1.NodeAddress{internal, external}}
	for _, edit := range edits {
		edit(&i)
	}
	return answer{given: described, instance: i}
}

func refusing(reason string) answer {
	return answer{given: refused, cause: message.Cause{Reason: reason, Message: "because"}}
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func annotation(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{key: value} }
}

func addresses(list ...corev1.NodeAddress) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Addresses = list }
}

func reporting(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: status})
	}
}

func shows(status corev1.ConditionStatus, reason, message string, written time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: ConditionInitialized, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(written), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
}

func offering(addresses ...corev1.NodeAddress) func(*instance) {
	return func(i *instance) { i.addresses = addresses }
}

func with(labels map[string]string) func(*instance) {
	return func(i *instance) { i.labels = labels }
}

// outcome describes a plan in a test row.
type outcome struct {
	Do          action
	Why         string
	Addresses   []corev1.NodeAddress
	Condition   string // status, reason, or that it is removed
	ProviderID  string
	Labels      map[string]*string
	Annotations map[string]*string
	Taints      []corev1.Taint
	Events      []string // reasons
}

func outcomeOf(p plan) outcome {
	got := outcome{
		Do: p.do, Why: p.why, Addresses: p.addresses, ProviderID: p.change.providerID,
		Labels: p.change.labels, Annotations: p.change.annotations,
	}
	if p.condition != nil {
		got.Condition = string(p.condition.Status) + " " + p.condition.Reason
	}
	if p.without != "" {
		got.Condition += "removed"
	}
	if p.change.taints != nil {
		got.Taints = *p.change.taints
	}
	for _, e := range p.events {
		got.Events = append(got.Events, e.Reason)
	}
	return got
}

type row struct {
	name      string
	node      *corev1.Node
	answer    answer
	memory    memory
	holder    string
	twin      string
	unwritten message.Cause
	strict    bool
	policy    LabelPolicy
	want      outcome
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.node.DeepCopy()
			got := decide(observed{now: noon, node: tt.node, answer: tt.answer, memory: tt.memory, policy: tt.policy, holder: tt.holder, twin: tt.twin, unwritten: tt.unwritten, strictIDs: tt.strict})
			if diff := cmp.Diff(tt.want, outcomeOf(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.node); diff != "" {
				t.Errorf("decide has changed the informer's Node:\n%s", diff)
			}
		})
	}
}

// place returns the six labels that one write sets from an instance.
func place(edits ...func(map[string]*string)) map[string]*string {
	labels := map[string]*string{
		corev1.LabelInstanceType:            new("small"),
		corev1.LabelInstanceTypeStable:      new("small"),
		corev1.LabelFailureDomainBetaZone:   new("z1"),
		corev1.LabelTopologyZone:            new("z1"),
		corev1.LabelFailureDomainBetaRegion: new("r1"),
		corev1.LabelTopologyRegion:          new("r1"),
	}
	for _, edit := range edits {
		edit(labels)
	}
	return labels
}

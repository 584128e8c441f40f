package certificate

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// changes are edits of a Node. Each of them changes one field.
var changes = map[string]func(*corev1.Node){
	"uid":            func(n *corev1.Node) { n.UID = "u2" },
	"provider ID":    providerID("p://2"),
	"no provider ID": providerID(""),
	"deletion":       func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} },
	"excluded":       func(n *corev1.Node) { n.Labels[ownership.LabelExclude] = "" },
	"mark":           func(n *corev1.Node) { n.Labels[nodefact.LabelIdentity] = nodefact.Identity(n.UID, n.Spec.ProviderID) },
	"wrong mark":     func(n *corev1.Node) { n.Labels[nodefact.LabelIdentity] = "x" },
	"label":          func(n *corev1.Node) { n.Labels["a"] = "b" },
	"annotation":     func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} },
	"taint":          func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} },
	"addresses": func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	},
	"heartbeat": func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}} },
}

// TestWhateverChangesThePlanWakes compares the plans for Nodes that differ in one
// field. If the plans differ, the change must ask for a pass.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	r := csr(t)
	bases := map[string]*corev1.Node{"base": node("a")}
	for name, change := range changes {
		bases[name] = node("a", change)
	}
	digest := func(n *corev1.Node, edits ...func(*observed)) string {
		o := situation(r, append([]func(*observed){func(o *observed) { o.node = n; o.answer.to = questionOf(*o) }}, edits...)...)
		p := decide(o)
		return string(p.do) + p.cause.Reason + p.why + string(o.answer.to.node) + o.answer.to.providerID
	}
	byID := answers(nil, machine("p://a", "10.0.0.1"))
	differ := 0
	for baseName, before := range bases {
		for changeName, change := range changes {
			now := before.DeepCopy()
			change(now)
			if digest(before) == digest(now) && digest(before, byID) == digest(now, byID) {
				continue
			}
			differ++
			if !wakes(ownership.Claim{}, before, now) {
				t.Errorf("%s, then %s: the plan changes without a pass", baseName, changeName)
			}
		}
	}
	if differ < 30 {
		t.Errorf("only %d pairs differ in their plans", differ)
	}
	for _, name := range []string{"label", "annotation", "taint", "heartbeat"} {
		if wakes(ownership.Claim{}, node("a"), bases[name]) {
			t.Errorf("%s wakes", name)
		}
	}
	if !wakes(ownership.Claim{}, node("a"), bases["addresses"]) {
		t.Error("new addresses do not wake, and the cloud's have changed")
	}
}

func TestRequestThatIsDecidedWakes(t *testing.T) {
	r := csr(t)
	if wakesRequest(r, r.DeepCopy()) {
		t.Error("a resync wakes")
	}
	other := r.DeepCopy()
	other.UID = "u-2"
	if !wakesRequest(r, other) || !wakesRequest(r, csr(t, condition(certificatesv1.CertificateApproved))) {
		t.Error("a decision or another object does not wake")
	}
}

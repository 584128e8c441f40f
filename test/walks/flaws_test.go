package walks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// flaw is a fault that concerns one machine: either the cloud describes it wrongly, or
// all questions about it fail.
type flaw struct {
	name string
	err  error
	// describes changes the description of the machine. of is the Node that was asked about,
	// or nil for a list.
	describes func(w *world, of *corev1.Node, m *cloudprovider.InstanceMetadata)
	// unknown means that the provider has neither a description nor an error.
	unknown bool
}

func (f *flaw) String() string {
	if f == nil {
		return "none"
	}
	return f.name
}

// alters is a flaw of the description that depends on nothing else.
func alters(name string, do func(m *cloudprovider.InstanceMetadata)) *flaw {
	return &flaw{name: name, describes: func(_ *world, _ *corev1.Node, m *cloudprovider.InstanceMetadata) { do(m) }}
}

var flaws = []*flaw{
	{name: "is locked", err: &quirks.StatusError{Status: http.StatusConflict, Text: "locked"}},
	{name: "is over a quota", err: errors.New("quota exceeded: no more of them")},
	{name: "is asked about wrongly", err: &quirks.StatusError{Status: http.StatusBadRequest, Text: "bad request"}},
	{name: "is asked about for too long", err: context.DeadlineExceeded},
	{name: "is of a kind that cannot be asked about", err: cloudprovider.NotImplemented},
	{name: "has no description", unknown: true},
	alters("has no ID", func(m *cloudprovider.InstanceMetadata) { m.ProviderID = "" }),
	alters("has an address that is none", func(m *cloudprovider.InstanceMetadata) { m.NodeAddresses[0].Address = "1.2.3" }),
	alters("has a label that is not valid", func(m *cloudprovider.InstanceMetadata) { m.AdditionalLabels["team"] = strings.Repeat("x", 64) }),
	alters("is in another zone", func(m *cloudprovider.InstanceMetadata) { m.Zone = "z2" }),
	alters("has too many labels", func(m *cloudprovider.InstanceMetadata) {
		for i := range cloud.MaxLabels {
			m.AdditionalLabels[fmt.Sprintf("x%03d", i)] = "" // all are after the label of the rack
		}
	}),
	{name: "is taken for another", describes: func(w *world, of *corev1.Node, m *cloudprovider.InstanceMetadata) {
		for _, o := range w.allNodes() {
			if of != nil && of.Spec.ProviderID != "" && o.UID != of.UID && o.Spec.ProviderID != "" {
				m.ProviderID = o.Spec.ProviderID
			}
		}
	}},
}

// metadata returns what the cloud says of the machine of a Node. The caller holds mu.
func (w *world) metadata(of *corev1.Node, m *machine) *cloudprovider.InstanceMetadata {
	described := m.metadata()
	if m.flaw != nil && m.flaw.describes != nil {
		m.flaw.describes(w, of, described)
	}
	return described
}

// corrected ends all flaws of machines and of Nodes. The caller holds mu.
func (w *world) corrected() {
	for _, m := range w.machines {
		m.flaw = nil
	}
	for _, n := range w.allNodes() {
		if _, wrong := n.Annotations[api.AnnotationAlphaProvidedIPAddr]; wrong {
			delete(n.Annotations, api.AnnotationAlphaProvidedIPAddr)
			w.store(n)
		}
	}
}

// isFlawed reports whether a Node need not be in order, because of a flaw of its machine or
// because its kubelet has a wrong address. The caller holds mu.
func (w *world) isFlawed(n *corev1.Node) bool {
	return w.nodes[n.UID].machine.flaw != nil || n.Annotations[api.AnnotationAlphaProvidedIPAddr] != ""
}

// answers reports whether questions about the machine have answers.
func (m *machine) answers() bool { return m.flaw == nil || m.flaw.err == nil && !m.flaw.unknown }

var wrongNodeIPs = []string{"192.0.2.300", "198.51.100.7"}

var flawEvents = []nodeEvent{
	{"is described wrongly", func(w *world, n *corev1.Node, trail *nodeTrail) bool {
		trail.machine.flaw = flaws[w.r.IntN(len(flaws))]
		w.note("    %s %s", n.UID, trail.machine.flaw)
		return true
	}},
	{"is described rightly", func(_ *world, _ *corev1.Node, trail *nodeTrail) bool { trail.machine.flaw = nil; return true }},
	{"has a wrong --node-ip", func(w *world, n *corev1.Node, _ *nodeTrail) bool {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, api.AnnotationAlphaProvidedIPAddr, wrongNodeIPs[w.r.IntN(len(wrongNodeIPs))])
		return true
	}},
}

package node

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/message/messagetest"
)

func TestReasonsAreComplete(t *testing.T) { messagetest.ReasonsAreComplete(t, Reasons()) }

// TestPlansOfHostileTexts makes plans from texts that a broken kubelet or a broken
// cloud might send. Whatever they send, the Node shows lines of bounded length, and the
// advice in them is not cut off.
func TestPlansOfHostileTexts(t *testing.T) {
	hostile := "x\n\x1b[2J" + strings.Repeat("y", 1<<20)
	many := map[string]string{}
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many[string(c)+" "+hostile[:4000]] = hostile[:150000]
	}
	for name, c := range map[string]struct {
		edit   func(*corev1.Node)
		answer answer
		wayOut string
	}{
		"NodeIPIsNoAddress": {func(n *corev1.Node) { withAnnotation(n, api.AnnotationAlphaProvidedIPAddr, hostile) }, machine(), "separated by a comma."},
		"LabelsAreNotValid": {nil, machine(with(many)), "and '.'."},
		"TypeIsNotValid":    {nil, machine(func(i *instance) { i.size = hostile }), "and '.'."},
		"ProviderIDIsLong":  {func(n *corev1.Node) { n.Spec.ProviderID = "p://" + hostile }, machine(func(i *instance) { i.providerID = "p://2" + hostile }), ""},
		"ZoneIsLong":        {func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "z1" }, machine(func(i *instance) { i.zone = hostile }), ""},
		"CloudsErrorIsLong": {nil, answer{given: refused, cause: notWritten(errors.New(hostile))}, ")"},
		"InitialisedAndZone": {func(n *corev1.Node) {
			n.Spec.Taints, n.Spec.ProviderID, n.Labels[corev1.LabelTopologyZone] = nil, "p://1", "z1"
		}, machine(func(i *instance) { i.zone = hostile }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := fresh()
			if c.edit != nil {
				c.edit(node)
			}
			w := &world{node: node, now: noon}
			var shown []string
			for range 3 {
				p := w.step(c.answer, 2)
				for _, e := range p.events {
					shown = append(shown, e.Message)
				}
			}
			for _, condition := range w.node.Status.Conditions {
				shown = append(shown, condition.Message)
			}
			if len(shown) == 0 {
				t.Fatal("nothing is shown")
			}
			for _, text := range shown {
				if len(text) > message.MaxConditionBytes || strings.ContainsFunc(text, unicode.IsControl) {
					t.Errorf("%d bytes: %.100q", len(text), text)
				}
			}
			if c.wayOut != "" && !slices.ContainsFunc(shown, func(text string) bool { return strings.Contains(text, c.wayOut) }) {
				t.Errorf("the way out was cut: %.3000q", shown)
			}
		})
	}
}

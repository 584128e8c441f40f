package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// The label keeps all rules off a Node, before and after its initialisation.
func TestExcludedNodeIsLeftAlone(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	out := plain(b.name("excluded"))
	out.Labels[labelExclude] = "true"
	i := cloud.instance(t, simulator.Instance{Name: out.Name})
	b.register(t, out)
	witness, _ := b.pair(t, cloud, simulator.Instance{Name: b.name("included")})
	mark := b.audit(t).mark()

	b.daemon(t, setup{cloud: cloud.url, flags: []string{"--node-status-update-frequency=500ms"}})
	b.awaitNode(t, witness.Name, soon, initialized)
	b.nothingIsWritten(t, cloud, out.Name, mark)

	b.patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":null}}}`)
	b.awaitNode(t, out.Name, soon, is(i, stated(i)...))

	b.patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":""}}}`)
	mark = b.audit(t).mark()
	cloud.change(t, i, simulator.InstancePatch{Type: new("huge"), Addresses: offered("InternalIP=127.0.81.1")})
	b.nothingIsWritten(t, cloud, out.Name, mark)

	// A value that says false in so many words excludes nothing.
	b.patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":"false"}}}`)
	b.awaitNode(t, out.Name, soon, func(node *corev1.Node) error {
		return differ("type", "huge", node.Labels[corev1.LabelInstanceTypeStable])
	})
}

// nothingIsWritten looks at a Node over a few looks of the daemon at others.
func (b *bed) nothingIsWritten(t *testing.T, c *cloud, node string, mark int64) {
	t.Helper()
	before := b.node(t, node)
	b.awaitLooks(t, c, 3)
	if writes := b.audit(t).since(mark).ours().of(node).writes(); len(writes) > 0 {
		t.Errorf("the excluded Node was written: %v", writes)
	}
	if diff := cmp.Diff(before.Labels, b.node(t, node).Labels); diff != "" {
		t.Errorf("labels (-before +now):\n%s", diff)
	}
	told, err := b.told(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	if count(told, "Warning") > 0 {
		t.Errorf("events about the excluded Node: %q", told)
	}
}

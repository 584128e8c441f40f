package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// A Node with the label that excludes it is left alone, before and after its
// initialisation.
func TestExcludedNodeIsLeftAlone(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	out := nodes.New(b.Name("excluded"))
	out.Labels[labelExclude] = "true"
	i := cloud.Instance(t, simulator.Instance{Name: out.Name})
	b.Register(t, out)
	witness, _ := b.Pair(t, cloud, simulator.Instance{Name: b.Name("included")})
	mark := b.Audit(t).Mark()

	b.Daemon(t, daemon.Setup{Cloud: cloud.URL, Flags: []string{"--node-status-update-frequency=500ms"}})
	b.AwaitNode(t, witness.Name, expect.Soon, nodes.Initialized)
	nothingIsWritten(t, b, cloud, out.Name, mark)

	b.Patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":null}}}`)
	b.AwaitNode(t, out.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))

	b.Patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":""}}}`)
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // The second event shows that the daemon has seen the label.
		told, err := b.Events(ctx, out.Name)
		if err == nil && expect.CountPrefix(told, "Normal NodeExcluded") < 2 {
			err = fmt.Errorf("events %q, want NodeExcluded twice", told)
		}
		return err
	})
	mark = b.Audit(t).Mark()
	cloud.Change(t, i, simulator.InstancePatch{Type: new("huge"), Addresses: nodes.CloudAddresses("InternalIP=127.0.81.1")})
	nothingIsWritten(t, b, cloud, out.Name, mark)

	// The value "false" excludes nothing.
	b.Patch(t, out.Name, `{"metadata":{"labels":{"`+labelExclude+`":"false"}}}`)
	b.AwaitNode(t, out.Name, expect.Soon, func(node *corev1.Node) error {
		return expect.Equal("type", "huge", node.Labels[corev1.LabelInstanceTypeStable])
	})
}

// nothingIsWritten checks that a Node stays as it is while the daemon checks other
// Nodes a few times.
func nothingIsWritten(t *testing.T, b *bed.Bed, c *bed.Cloud, node string, mark int64) {
	t.Helper()
	before := b.Node(t, node)
	awaitCalls(t, c, 3)
	if writes := b.Audit(t).Since(mark).OfDaemons().OfNode(node).Writes(); len(writes) > 0 {
		t.Errorf("the excluded Node was written: %v", writes)
	}
	if diff := cmp.Diff(before.Labels, b.Node(t, node).Labels); diff != "" {
		t.Errorf("labels (-before +now):\n%s", diff)
	}
	told, err := b.Events(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	if expect.CountPrefix(told, "Warning") > 0 {
		t.Errorf("events about the excluded Node: %q", told)
	}
}

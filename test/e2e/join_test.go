package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// A kubelet registers its Node with the taint. The daemon describes the Node and
// then releases it. This takes two writes, one event and one call to the cloud (S6,
// P2).
func TestNewNodeIsInitialised(t *testing.T) {
	b := onShared(t)
	i := b.Kubelet(t, simulator.Instance{
		Name: b.Name("join"), Zone: "sim-1b", Type: "medium",
		// The addresses are not sorted by type, and the internal addresses have both families.
		Addresses: nodes.CloudAddresses("InternalIP=127.0.77.1", "ExternalIP=203.0.113.77", "InternalIP=fd00::77", "ExternalDNS=join.example.com"),
		Labels:    map[string]string{"rack": "r1", "example.com/disk": "ssd"},
	})
	// Wait until Kubernetes has set and removed its own taints. Otherwise a write
	// of the daemon could conflict with a write of Kubernetes, and the daemon would
	// repeat it.
	b.AwaitNode(t, i.Name, expect.Soon, func(node *corev1.Node) error {
		ready := func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if len(node.Spec.Taints) != 1 || !slices.ContainsFunc(node.Status.Conditions, ready) {
			return fmt.Errorf("taints %v, conditions %v", node.Spec.Taints, node.Status.Conditions)
		}
		return nil
	})
	mark := b.Audit(t).Mark()
	if err := b.Cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}

	b.Daemon(t, daemon.Setup{})
	node := b.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
	// At the moment of its release, the Node lacks nothing. The API server keeps the
	// Node's addresses grouped by type.
	if err := nodes.As(i, nodes.Addresses("InternalIP=127.0.77.1", "InternalIP=fd00::77", "ExternalIP=203.0.113.77",
		"ExternalDNS=join.example.com", "Hostname="+i.Name)...)(node); err != nil {
		t.Error(err)
	}
	b.AwaitEvent(t, i.Name, expect.Soon, "Normal Synced: Node synced successfully")
	hasEventAsUpstreams(t, b, node)

	var ours audit.Requests
	expect.Within(t, expect.Soon, func(context.Context) error { // The API server can show the event before it logs the request.
		ours = b.Audit(t).Since(mark).OfDaemons()
		events := ours.Where(func(r audit.Request) bool { return r.Object.Resource == "events" })
		return expect.Equal("events", []string{"create events"}, events.Lines())
	})
	if err := expect.Equal("writes of the Node", []string{"patch nodes/status", "patch nodes"}, ours.OfNode(i.Name).Writes().Lines()); err != nil {
		t.Error(err)
	}
	for _, r := range ours.OfNode(i.Name).Writes() {
		if !strings.HasSuffix(r.UserAgent, "/node-controller") {
			t.Errorf("user agent %q, want upstream's suffix node-controller", r.UserAgent)
		}
	}
	calls, err := b.Cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(); n != 1 {
		t.Errorf("the cloud was called %d times, want 1: %+v", n, calls.Counters)
	}
}

// hasEventAsUpstreams checks the fields on which consumers of upstream's event rely.
func hasEventAsUpstreams(t *testing.T, b *bed.Bed, node *corev1.Node) {
	t.Helper()
	list, err := b.Admin.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.name": node.Name, "reason": "Synced",
	}.String()})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		t.Fatalf("%d events Synced, want 1", len(list.Items))
	}
	e := list.Items[0]
	if err := errors.Join(
		expect.Equal("source", corev1.EventSource{Component: bed.NodeSource}, e.Source),
		expect.Equal("object", corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, e.InvolvedObject),
		expect.Equal("count", int32(1), e.Count),
	); err != nil {
		t.Error(err)
	}
}

// The daemon also initialises Nodes that join while it runs, several at once. An
// initialised Node does not change when its instance is stopped and boots again.
func TestNodesJoinWhileTheDaemonRuns(t *testing.T) {
	b := onShared(t)
	b.Daemon(t, daemon.Setup{})
	instances := b.Boot(t, simulator.Instance{Name: b.Name("later")}, simulator.Instance{Name: b.Name("later")}, simulator.Instance{Name: b.Name("later")})
	for _, i := range instances {
		b.AwaitNode(t, i.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
	}

	again := instances[0]
	before := b.Node(t, again.Name)
	for _, step := range []struct {
		do   func(context.Context, string) error
		runs bool
	}{{b.Cloud.StopInstance, false}, {b.Cloud.StartInstance, true}} {
		if err := step.do(t.Context(), again.ID); err != nil {
			t.Fatal(err)
		}
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			running, err := b.Running(ctx)
			if runs := slices.Contains(running, "kubelet-"+again.Name); err != nil || runs != step.runs {
				return fmt.Errorf("the kubelet runs: %v, error %w", runs, err)
			}
			return nil
		})
	}
	b.AwaitNode(t, again.Name, expect.Soon, func(node *corev1.Node) error {
		return errors.Join(nodes.As(again, nodes.AddressesOf(again)...)(node), expect.Equal("UID", before.UID, node.UID))
	})
}

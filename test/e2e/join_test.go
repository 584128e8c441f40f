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
)

// A kubelet registers with the taint; the daemon describes the Node and then
// releases it, with two writes, one event and one call of the cloud (S6, P2).
func TestNewNodeIsInitialised(t *testing.T) {
	b := onShared(t)
	i := b.kubelet(t, simulator.Instance{
		Name: b.name("join"), Zone: "sim-1b", Type: "medium",
		// Types are mixed, and there are two of each family.
		Addresses: offered("InternalIP=127.0.77.1", "ExternalIP=203.0.113.77", "InternalIP=fd00::77", "ExternalDNS=join.example.com"),
		Labels:    map[string]string{"rack": "r1", "example.com/disk": "ssd"},
	})
	// Kubernetes' own taints have come and gone: a write that meets theirs is repeated.
	b.awaitNode(t, i.Name, soon, func(node *corev1.Node) error {
		ready := func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if len(node.Spec.Taints) != 1 || !slices.ContainsFunc(node.Status.Conditions, ready) {
			return fmt.Errorf("taints %v, conditions %v", node.Spec.Taints, node.Status.Conditions)
		}
		return nil
	})
	mark := b.audit(t).mark()
	if err := b.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}

	b.daemon(t, setup{})
	node := b.awaitNode(t, i.Name, soon, initialized)
	// Nothing is missing at the moment in which the Node is released, and the
	// addresses are as the API server keeps them: by type.
	if err := is(i, addresses("InternalIP=127.0.77.1", "InternalIP=fd00::77", "ExternalIP=203.0.113.77",
		"ExternalDNS=join.example.com", "Hostname="+i.Name)...)(node); err != nil {
		t.Error(err)
	}
	b.awaitEvent(t, i.Name, soon, "Normal Synced: Node synced successfully")
	b.hasEventAsUpstreams(t, node)

	ours := b.audit(t).since(mark).ours()
	if err := differ("writes of the Node", []string{"patch nodes/status", "patch nodes"}, ours.of(i.Name).writes().lines()); err != nil {
		t.Error(err)
	}
	for _, r := range ours.of(i.Name).writes() {
		if !strings.HasSuffix(r.UserAgent, "/node-controller") {
			t.Errorf("user agent %q, want upstream's suffix node-controller", r.UserAgent)
		}
	}
	events := ours.where(func(r request) bool { return r.Object.Resource == "events" })
	if err := differ("events", []string{"create events"}, events.lines()); err != nil {
		t.Error(err)
	}
	calls, err := b.cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(); n != 1 {
		t.Errorf("the cloud was called %d times, want 1: %+v", n, calls.Counters)
	}
}

// hasEventAsUpstreams looks at what consumers of upstream's event rely on.
func (b *bed) hasEventAsUpstreams(t *testing.T, node *corev1.Node) {
	t.Helper()
	list, err := b.admin.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: fields.Set{
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
		differ("source", corev1.EventSource{Component: nodeSource}, e.Source),
		differ("object", corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, e.InvolvedObject),
		differ("count", int32(1), e.Count),
	); err != nil {
		t.Error(err)
	}
}

// What joins while the daemon runs is initialised as well, several at once,
// and a Node whose instance was released stays as it is when it boots again.
func TestNodesJoinWhileTheDaemonRuns(t *testing.T) {
	b := onShared(t)
	b.daemon(t, setup{})
	instances := b.boot(t, simulator.Instance{Name: b.name("later")}, simulator.Instance{Name: b.name("later")}, simulator.Instance{Name: b.name("later")})
	for _, i := range instances {
		b.awaitNode(t, i.Name, 2*time.Minute, is(i, stated(i)...))
	}

	again := instances[0]
	before := b.node(t, again.Name)
	for _, step := range []struct {
		do   func(context.Context, string) error
		runs bool
	}{{b.cloud.StopInstance, false}, {b.cloud.StartInstance, true}} {
		if err := step.do(t.Context(), again.ID); err != nil {
			t.Fatal(err)
		}
		await(t, soon, func(ctx context.Context) error {
			running, err := b.running(ctx)
			if runs := slices.Contains(running, "kubelet-"+again.Name); err != nil || runs != step.runs {
				return fmt.Errorf("the kubelet runs: %v, error %w", runs, err)
			}
			return nil
		})
	}
	b.awaitNode(t, again.Name, soon, func(node *corev1.Node) error {
		return errors.Join(is(again, stated(again)...)(node), differ("UID", before.UID, node.UID))
	})
}

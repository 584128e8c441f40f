package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// toldOfRoutes are the events about a Node's routes.
func (b *bed) toldOfRoutes(ctx context.Context, node string) ([]string, error) {
	return b.toldBy(ctx, routeSource, node)
}

// awaitFailure waits for upstream's event with the cloud's own words, once.
func (b *bed) awaitFailure(t *testing.T, node *corev1.Node, words string) {
	t.Helper()
	var told []string
	await(t, soon, func(ctx context.Context) error {
		var err error
		if told, err = b.toldOfRoutes(ctx, node.Name); err != nil || len(told) == 0 {
			return fmt.Errorf("node %s was told nothing of routes: %w", node.Name, err)
		}
		return nil
	})
	cidr := b.node(t, node.Name).Spec.PodCIDR
	start := fmt.Sprintf("Warning FailedToCreateRoute: Could not create route %s %s for node %s after ", node.UID, cidr, node.Name)
	if len(told) != 1 || !strings.HasPrefix(told[0], start) || !strings.Contains(told[0], words) {
		t.Errorf("events %q, want one: %s… with %q", told, start, words)
	}
}

// A table that is full: the Node says so, in the cloud's own words and once,
// and gets its route when there is room.
func TestRouteTableIsFull(t *testing.T) {
	n := onShared(t).network(t, "--max-routes=3")
	planted := n.plants(t, simulator.Route{Destination: "10.250.1.0/24"}, simulator.Route{Destination: "10.250.2.0/24"})
	n.standing = lines(planted)
	d := n.runs(t, setup{})
	_, first := n.joins(t, "full")
	n.awaitNode(t, first.Name, soon, shows(reachable))
	mark := n.audit(t).mark()
	_, second := n.joins(t, "full")
	n.awaitNode(t, second.Name, soon, func(node *corev1.Node) error {
		if err := shows(unreachable)(node); err != nil {
			return err
		}
		if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNetworkUnavailable }) {
			return fmt.Errorf("taints %v: pods are not kept away", node.Spec.Taints)
		}
		return nil
	})
	const words = "the route table has 3 routes, and its quota is 3"
	n.awaitFailure(t, second, words)
	n.awaitMetric(t, d, `fairlead_routes_missing{reason="Failed"} 1`)
	if !d.says("The cloud has not done it", second.Spec.PodCIDR, words) {
		t.Error("the log does not say why there is no route")
	}

	if err := n.cloud.DeleteRoute(t.Context(), planted[0].ID); err != nil {
		t.Fatal(err)
	}
	n.standing = lines(planted[1:])
	awaitTable(t, soon, n)
	n.awaitReachable(t, soon)
	n.awaitMetric(t, d, `fairlead_routes_present 2`)
	n.awaitFailure(t, second, words)
	if err := differ("writes of the condition", []string{second.Name + " True", second.Name + " False"}, n.conditionsWritten(t, mark)); err != nil {
		t.Error(err)
	}
}

// The cloud refuses all calls about routes during a rollout: nothing is
// deleted, Nodes that have their routes are not written to, and afterwards all
// is as it should be.
func TestOutageOfRoutesDuringARollout(t *testing.T) {
	const rollout = 20
	n := onShared(t).network(t)
	d := n.runs(t, setup{})
	_, stays := n.joins(t, "stays")
	_, goes := n.joins(t, "goes")
	awaitTable(t, soon, n)
	n.awaitReachable(t, soon)
	before := n.cloud.changes(t)
	mark := n.audit(t).mark()
	n.cloud.sets(t, simulator.Fault{Name: "down", Kind: simulator.FaultOutage, Calls: []simulator.Call{
		simulator.ListRoutes, simulator.CreateRoute, simulator.DeleteRoute, simulator.ChangeRoutes,
	}})
	n.leaves(t, goes.Name)
	fleet := n.fleet(t, n.cloud, rollout)
	n.awaitFleet(t, fleet, rollout, soon, func(node *corev1.Node) bool { return shows(unreachable)(node) == nil })
	if routes, err := n.cloud.Routes(t.Context()); err != nil || len(routes) != 2 {
		t.Errorf("%d routes during the outage, want both that were there: error %v", len(routes), err)
	}
	n.cloud.heals(t)
	awaitTable(t, soon, n)
	n.awaitReachable(t, soon)
	if made := n.cloud.changes(t); made.Deleted-before.Deleted > 10 {
		t.Errorf("the cloud was asked to delete one route %d times", made.Deleted)
	}
	written := map[string]int{}
	for _, w := range n.conditionsWritten(t, mark) {
		written[w]++
	}
	want := map[string]int{}
	for _, node := range n.fleetOf(t, fleet) {
		want[node+" True"], want[node+" False"] = 1, 1
		told, err := n.toldOfRoutes(t.Context(), node)
		if err != nil || len(told) != 1 || !strings.Contains(told[0], "503") {
			t.Errorf("events %q, error %v, want one with the cloud's words", told, err)
		}
	}
	if err := differ("writes of the condition, and none of "+stays.Name, want, written); err != nil {
		t.Error(err)
	}
	if d.Ended() {
		t.Error("the daemon has ended")
	}
}

// fleetOf are the names of a fleet's Nodes.
func (b *bed) fleetOf(t *testing.T, fleet string) []string {
	t.Helper()
	list, err := b.admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: labelFleet + "=" + fleet})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// The leader is killed while it makes routes one after the other. The next one
// makes the rest, and none twice.
func TestLeaderIsKilledWhileItMakesRoutes(t *testing.T) {
	const rollout = 12
	n := onShared(t).network(t)
	n.cloud.sets(t, simulator.Fault{Name: "slow", Kind: simulator.FaultLatency, Calls: []simulator.Call{simulator.CreateRoute}, Latency: simulator.Duration(soon / 60)})
	leader, standby := n.pairOfReplicas(t, n.cloud, n.setup(setup{flags: []string{"--concurrent-route-syncs=1"}}))
	n.fleet(t, n.cloud, rollout)
	await(t, soon, func(ctx context.Context) error {
		routes, err := n.cloud.Routes(ctx)
		if len(routes) < rollout/3 {
			return fmt.Errorf("%d routes yet: %w", len(routes), err)
		}
		return nil
	})
	if asked := standby.cloud.Requests(ofTable); len(asked) > 0 {
		t.Errorf("the standby has made %d calls about routes", len(asked))
	}
	leader.Kill()
	if routes, err := n.cloud.Routes(t.Context()); err != nil || len(routes) == rollout {
		t.Fatalf("all %d routes were there before the leader was killed, error %v", len(routes), err)
	}
	awaitTable(t, crashHandOver+soon, n)
	n.awaitReachable(t, soon)
	if made := n.cloud.changes(t); made.Created > rollout+1 || made.Deleted > 0 {
		t.Errorf("%+v, want %d routes to be created, and one again at most", made, rollout)
	}
}

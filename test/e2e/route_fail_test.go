package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

// retriedInAMinute is how long a test waits until the daemon has repeated a call about
// routes. The daemon repeats the call after a minute at most.
const retriedInAMinute = 2 * time.Minute

// toldOfRoutes returns the events about a Node's routes.
func toldOfRoutes(ctx context.Context, b *bed.Bed, node string) ([]string, error) {
	return b.EventsOf(ctx, podnetwork.Source, node)
}

// awaitFailure waits for upstream's event with the cloud's own words, and checks that
// there is only one.
func awaitFailure(t *testing.T, b *bed.Bed, node *corev1.Node, words string) {
	t.Helper()
	var told []string
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		var err error
		if told, err = toldOfRoutes(ctx, b, node.Name); err != nil || len(told) == 0 {
			return fmt.Errorf("node %s was told nothing of routes: %w", node.Name, err)
		}
		return nil
	})
	cidr := b.Node(t, node.Name).Spec.PodCIDR
	start := fmt.Sprintf("Warning FailedToCreateRoute: Could not create route %s %s for node %s after ", node.UID, cidr, node.Name)
	if len(told) != 1 || !strings.HasPrefix(told[0], start) || !strings.Contains(told[0], words) {
		t.Errorf("events %q, want one: %s… with %q", told, start, words)
	}
}

// The route table is full. One event on the Node says so in the cloud's own words. The
// Node gets its route when there is room.
func TestRouteTableIsFull(t *testing.T) {
	n := podnetwork.New(t, onShared(t), "--max-routes=3")
	planted := n.Plants(t, simulator.Route{Destination: "10.250.1.0/24"}, simulator.Route{Destination: "10.250.2.0/24"})
	n.Standing = podnetwork.Lines(planted)
	d := n.Runs(t, daemon.Setup{})
	_, first := n.Joins(t, "full")
	n.AwaitNode(t, first.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	mark := n.Audit(t).Mark()
	_, second := n.Joins(t, "full")
	n.AwaitNode(t, second.Name, expect.Soon, podnetwork.Shows(podnetwork.Unreachable))
	// kube-controller-manager adds the taint because of the condition. If that write
	// fails, kube-controller-manager writes again only when the Node has changed. So the
	// test changes the Node.
	n.Patch(t, second.Name, `{"metadata":{"annotations":{"example.com/changed":""}}}`)
	n.AwaitNode(t, second.Name, expect.Soon, func(node *corev1.Node) error {
		if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNetworkUnavailable }) {
			return fmt.Errorf("taints %v: pods are not kept away", node.Spec.Taints)
		}
		return nil
	})
	const words = "the route table has 3 routes, and its quota is 3"
	awaitFailure(t, n.Bed, second, words)
	n.AwaitMetric(t, d, `fairlead_routes_missing{reason="QuotaExceeded"} 1`)
	d.AwaitLogged(t, "Route call failed", second.Spec.PodCIDR, words)

	if err := n.Cloud.DeleteRoute(t.Context(), planted[0].ID); err != nil {
		t.Fatal(err)
	}
	n.Standing = podnetwork.Lines(planted[1:])
	podnetwork.AwaitTable(t, retriedInAMinute, n)
	n.AwaitReachable(t, expect.Soon)
	n.AwaitMetric(t, d, `fairlead_routes_present 2`)
	awaitFailure(t, n.Bed, second, words)
	podnetwork.AwaitConditionsWritten(t, n.Bed, mark, second.Name+" True", second.Name+" False")
}

// The cloud refuses all calls about routes during a rollout: nothing is
// deleted, and Nodes that have their routes are not written. Afterwards all Nodes
// get their routes.
func TestOutageOfRoutesDuringARollout(t *testing.T) {
	const rollout = 20
	n := podnetwork.New(t, onShared(t))
	d := n.Runs(t, daemon.Setup{FastPaths: true})
	n.Joins(t, "stays")
	_, goes := n.Joins(t, "goes")
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	before := podnetwork.RouteChanges(t, n.Cloud)
	mark := n.Audit(t).Mark()
	n.Cloud.Fail(t, simulator.Fault{Name: "down", Kind: simulator.FaultOutage, Calls: []simulator.Call{
		simulator.ListRoutes, simulator.CreateRoute, simulator.DeleteRoute, simulator.ChangeRoutes,
	}})
	n.Leaves(t, goes.Name)
	fleet := newFleet(t, n.Bed, n.Cloud, rollout)
	awaitFleet(t, n.Bed, fleet, rollout, expect.Soon, func(node *corev1.Node) bool { return podnetwork.Shows(podnetwork.Unreachable)(node) == nil })
	if routes, err := n.Cloud.Routes(t.Context()); err != nil || len(routes) != 2 {
		t.Errorf("%d routes during the outage, want both that were there: error %v", len(routes), err)
	}
	n.Cloud.Heal(t)
	podnetwork.AwaitTable(t, retriedInAMinute, n)
	n.AwaitReachable(t, expect.Soon)
	if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted-before.Deleted > 10 {
		t.Errorf("the cloud was asked to delete one route %d times", made.Deleted)
	}
	var want []string // and none of the Node that stays
	for _, node := range fleetOf(t, n.Bed, fleet) {
		want = append(want, node+" True", node+" False")
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			told, err := toldOfRoutes(ctx, n.Bed, node)
			if err != nil || len(told) != 1 || !strings.Contains(told[0], "503") {
				return fmt.Errorf("events %q, error %w, want one with the cloud's words", told, err)
			}
			return nil
		})
	}
	podnetwork.AwaitConditionsWritten(t, n.Bed, mark, want...)
	if d.Ended() {
		t.Error("the daemon has ended")
	}
}

// fleetOf returns the names of a fleet's Nodes.
func fleetOf(t *testing.T, b *bed.Bed, fleet string) []string {
	t.Helper()
	list, err := b.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: nodepool.Label + "=" + fleet})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// The leader is killed while it makes routes one after the other. The next leader
// makes the remaining routes, and none twice.
func TestLeaderIsKilledWhileItMakesRoutes(t *testing.T) {
	const rollout = 12
	n := podnetwork.New(t, onOwn(t))
	leader, standby := replicas.Pair(t, n.Bed, n.Cloud, n.Setup(daemon.Setup{Flags: []string{"--concurrent-route-syncs=1"}}))
	// The leader makes the next route only when it has the reply. Which Nodes come first does not matter.
	trap := leader.Cloud.Trap(func(r proxy.Request) bool { return r.Method == http.MethodPost && ofTable(r) }, rollout/3, proxy.After)
	newFleet(t, n.Bed, n.Cloud, rollout)
	bed.AwaitTrap(t, trap)
	if asked := standby.Cloud.Requests(ofTable); len(asked) > 0 {
		t.Errorf("the standby has made %d calls about routes", len(asked))
	}
	leader.Kill()
	trap.Cut()
	if routes, err := n.Cloud.Routes(t.Context()); err != nil || len(routes) == rollout {
		t.Fatalf("all %d routes were there before the leader was killed, error %v", len(routes), err)
	}
	podnetwork.AwaitTable(t, crashHandOver+expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	if made := podnetwork.RouteChanges(t, n.Cloud); made.Created > rollout+1 || made.Deleted > 0 {
		t.Errorf("%+v, want %d routes to be created, and one again at most", made, rollout)
	}
}

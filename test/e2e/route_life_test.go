package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
)

// A Node that joins gets its route with one call, and one write shows this on the Node.
// A Node that is deleted leaves no route behind. Foreign routes stay, and stray ones are
// deleted (S5).
func TestRouteOfANode(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	foreign := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("foreign")})
	n.Standing = podnetwork.Lines(n.Plants(t,
		simulator.Route{Destination: "10.250.1.0/24"},                                                                                 // to no instance: a gateway
		simulator.Route{Destination: "10.0.0.0/8", Target: foreign.ID},                                                                // wider than the pod CIDR
		simulator.Route{Destination: podnetwork.PodCIDR, Target: foreign.ID},                                                          // as wide as the pod CIDR
		simulator.Route{Destination: "192.168.7.0/24", Target: foreign.ID},                                                            // outside the pod CIDR
		simulator.Route{Destination: "pl-00000001", Target: foreign.ID},                                                               // to a destination that is no CIDR
		simulator.Route{Destination: "10.250.2.0/24", Target: foreign.ID, Tags: map[string]string{simulated.TagCluster: "elsewhere"}}, // of another cluster
	))
	stray := n.Plants(t, simulator.Route{Destination: "10.250.3.0/24", Target: foreign.ID})[0]
	mark := n.Audit(t).Mark()
	d := n.Runs(t, daemon.Setup{})
	_, node := n.Joins(t, "routed")
	podnetwork.AwaitTable(t, expect.Soon, n)
	node = n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	if err := expect.Equal("calls", podnetwork.Changes{Created: 1, Deleted: 1}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
	podnetwork.AwaitConditionsWritten(t, n.Bed, mark, node.Name+" False")
	d.AwaitLogged(t, "Deleted route", stray.ID, "there is no Node "+foreign.Name)
	d.AwaitLogged(t, "Created route", node.Spec.PodCIDR, node.Name)
	n.AwaitMetric(t, d, "fairlead_routes_wanted 1")
	n.AwaitMetric(t, d, "fairlead_routes_present 1")

	n.Leaves(t, node.Name)
	podnetwork.AwaitTable(t, expect.Soon, n)
	d.AwaitLogged(t, "Deleted route", "Node "+node.Name+" was deleted")
	podnetwork.AwaitListings(t, n.Cloud, 5)
	podnetwork.AwaitTable(t, expect.Soon, n)
	if err := expect.Equal("calls", podnetwork.Changes{Created: 1, Deleted: 2}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
}

// A Node is replaced by another machine while the cloud's list lags behind, and
// the table takes only one route for a CIDR. No route is left over, and none is deleted
// twice.
func TestRouteOfANodeThatIsReplaced(t *testing.T) {
	b := onOwn(t)
	for _, tt := range []struct {
		name string
		// cidr is the CIDR of the first Node. Each row has a different one, far from the
		// CIDRs that the control plane gives.
		cidr string
		// sameName and sameCIDR say what the second Node has in common with the first.
		sameName, sameCIDR bool
	}{
		{"SameName", "10.251.1.0/24", true, false},
		{"SameNameAndCIDR", "10.251.2.0/24", true, true},
		{"SameCIDR", "10.251.3.0/24", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := podnetwork.New(t, b, "--unique-routes")
			n.Cloud.Fail(t, simulator.Fault{Name: "late", Kind: simulator.FaultStale, Calls: []simulator.Call{simulator.ListRoutes}, Age: simulator.Duration(3 * time.Second)})
			first := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("replaced")})
			d := n.Runs(t, daemon.Setup{})
			n.Registers(t, first, tt.cidr)
			podnetwork.AwaitTable(t, expect.Soon, n)
			n.AwaitReachable(t, expect.Soon)

			n.Leaves(t, first.Name)
			if err := n.Cloud.TerminateInstance(t.Context(), first.ID); err != nil {
				t.Fatal(err)
			}
			wanted := simulator.Instance{Name: first.Name}
			if !tt.sameName {
				wanted.Name = n.Name("replaced")
			}
			cidr := "" // the control plane gives one
			if tt.sameCIDR {
				cidr = tt.cidr
			}
			n.Registers(t, n.Cloud.Instance(t, wanted), cidr)
			podnetwork.AwaitTable(t, expect.Soon, n)
			n.AwaitReachable(t, expect.Soon)
			podnetwork.AwaitListings(t, n.Cloud, 5)
			podnetwork.AwaitTable(t, expect.Soon, n)
			if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted != 1 {
				t.Errorf("%d routes were deleted, want the one of the first Node only", made.Deleted)
			}
			if d.Logged("Controller does not run") || d.Ended() {
				t.Error("the daemon is not well")
			}
		})
	}
}

// With --route-deletion-duplicates, a duplicate of a route is deleted. The Node keeps its
// original route.
func TestRouteThatIsThereTwice(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	i, node := n.Joins(t, "twin")
	mark := n.Audit(t).Mark()
	d := n.Runs(t, daemon.Setup{Flags: []string{"--route-deletion-duplicates"}})
	podnetwork.AwaitTable(t, expect.Soon, n)
	node = n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	first, err := n.Cloud.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	twin := n.Plants(t, simulator.Route{Destination: node.Spec.PodCIDR, Target: i.ID, Tags: podnetwork.Owned(podnetwork.Cluster1, node.Name)})[0]
	podnetwork.AwaitTable(t, expect.Soon, n)
	left, err := n.Cloud.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := expect.Equal("routes", first, left); err != nil {
		t.Error(err)
	}
	d.AwaitLogged(t, "Deleted route", twin.ID, "it duplicates another route")
	podnetwork.AwaitConditionsWritten(t, n.Bed, mark, node.Name+" False")
}

// A provider lists each route twice, once for each of its tables. No route is deleted
// while its Node exists.
func TestRoutesOfTwoTables(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	n.Runs(t, daemon.Setup{Provider: "modern", Settings: "quirks: [ListsTwoTables]\n"})
	_, node := n.Joins(t, "twice")
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	podnetwork.AwaitListings(t, n.Cloud, 3*int64(podnetwork.StrayFor/time.Second))
	if err := expect.Equal("calls", podnetwork.Changes{Created: 1}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
	n.Leaves(t, node.Name)
	podnetwork.AwaitTable(t, expect.Soon, n)
}

// A Node gets no route if its CIDR is outside the cluster's CIDR, and the Node says
// why. It gets the route when the operator allows routes outside the cluster's
// CIDR.
func TestRouteOutsideTheCluster(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	i := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("outside")})
	d := n.Runs(t, daemon.Setup{})
	node := n.Registers(t, i, "198.51.100.0/24")
	cause := "PodCIDRRejected: No route is created for 198.51.100.0/24, because it is not a part of --cluster-cidr=" + podnetwork.PodCIDR +
		". Correct --cluster-cidr, or give the Node another CIDR. --route-creation-outside-cluster-cidr allows the route."
	n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows("True "+cause))
	podnetwork.AwaitListings(t, n.Cloud, 3)
	if err := expect.Equal("calls", podnetwork.Changes{}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		told, err := toldOfRoutes(ctx, n.Bed, node.Name)
		if err != nil {
			return err
		}
		return expect.Equal("events", []string{"Warning " + cause}, told)
	})
	n.AwaitMetric(t, d, `fairlead_routes_missing{reason="Rejected"} 1`)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}

	n.Runs(t, daemon.Setup{Flags: []string{"--route-creation-outside-cluster-cidr"}})
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
}

// A kubelet can give its own Node half of the CIDR that another Node gets later. The more
// specific route would take half of the traffic of that Node's pods. The rightful Nodes
// come with CIDRs of the same length.
func TestRouteOfAPartOfAnotherNodesCIDR(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	n.Runs(t, daemon.Setup{})
	hostile := n.Registers(t, n.Cloud.Instance(t, simulator.Instance{Name: n.Name("hostile")}), "10.129.3.128/25")
	n.AwaitNode(t, hostile.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	n.Registers(t, n.Cloud.Instance(t, simulator.Instance{Name: n.Name("other")}), "10.129.4.0/24")
	rightful := n.Registers(t, n.Cloud.Instance(t, simulator.Instance{Name: n.Name("rightful")}), "10.129.3.0/24")

	cause := "PodCIDRRejected: No route is kept for 10.129.3.128/25, because it overlaps with 10.129.3.0/24, which Node " + rightful.Name +
		" has. The route would take the traffic of that Node's pods. Give this Node another CIDR."
	n.AwaitNode(t, rightful.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	n.AwaitNode(t, hostile.Name, 3*expect.Soon, podnetwork.Shows("True "+cause)) // after a minute, because it had its route
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		routes, err := n.Cloud.Routes(ctx)
		if err != nil {
			return err
		}
		var destinations []string
		for _, r := range routes {
			destinations = append(destinations, r.Destination)
		}
		slices.Sort(destinations)
		return expect.Equal("routes", []string{"10.129.3.0/24", "10.129.4.0/24"}, destinations)
	})
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		told, err := toldOfRoutes(ctx, n.Bed, rightful.Name)
		if err != nil {
			return err
		}
		return expect.Equal("events", []string{"Warning PodCIDROverlaps: Node " + hostile.Name + " claims 10.129.3.128/25, which overlaps with this Node's CIDR 10.129.3.0/24. Node " +
			hostile.Name + " gets no route for it. If nobody has given it this CIDR, its kubelet may be hostile."}, told)
	})
}

// This cloud keeps the addresses of a node in the node's route. When the addresses
// change, the daemon replaces the route. It deletes the old route before it creates
// the new one, because the table takes only one route for a CIDR.
func TestRouteFollowsTheNodesAddresses(t *testing.T) {
	n := podnetwork.New(t, onShared(t), "--unique-routes")
	i, node := n.Joins(t, "moving")
	n.Runs(t, daemon.Setup{Settings: "routeAddresses: true\n", Flags: []string{"--node-status-update-frequency=1s"}})
	follows := func(i simulator.Instance) {
		want := append(slices.Clone(i.Addresses), simulator.Address{Type: simulator.Hostname, Address: i.Name})
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			routes, err := n.Cloud.Routes(ctx)
			if err != nil || len(routes) != 1 {
				return fmt.Errorf("%d routes, want 1: %w", len(routes), err)
			}
			return expect.Equal("addresses of the route", want, routes[0].TargetAddresses)
		})
		podnetwork.AwaitTable(t, expect.Soon, n)
		n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	}
	follows(i)
	before := podnetwork.RouteChanges(t, n.Cloud)
	follows(n.Cloud.Change(t, i, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.88.8")}))
	podnetwork.AwaitListings(t, n.Cloud, 5)
	if err := expect.Equal("calls", podnetwork.Changes{Created: before.Created + 1, Deleted: before.Deleted + 1}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
}

// The condition that a network plugin has written is left alone.
func TestConditionOfANetworkPluginStays(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	i := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("plugged")})
	node := nodes.New(i.Name)
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "CalicoIsUp", Message: "Calico is running on this node",
	})
	n.Register(t, node)
	mark := n.Audit(t).Mark()
	n.Runs(t, daemon.Setup{})
	podnetwork.AwaitTable(t, expect.Soon, n)
	podnetwork.AwaitListings(t, n.Cloud, 3)
	if all := podnetwork.ConditionsWritten(t, n.Bed, mark); len(all) > 0 {
		t.Errorf("the condition was written: %v", all)
	}
	if err := podnetwork.Shows("False CalicoIsUp: Calico is running on this node")(n.Node(t, node.Name)); err != nil {
		t.Error(err)
	}
}

// No route is deleted while the API server is down, and the table follows the Nodes
// afterwards.
func TestRoutesWhileTheAPIServerRestarts(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	mark := n.Audit(t).Mark()
	d := n.Runs(t, daemon.Setup{})
	_, stays := n.Joins(t, "stays")
	_, goes := n.Joins(t, "goes")
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	if _, err := n.Command(t.Context(), "stop", "--kill", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	podnetwork.AwaitListings(t, n.Cloud, 3)
	if made := podnetwork.RouteChanges(t, n.Cloud); made.Deleted != 0 {
		t.Errorf("%d routes were deleted while nobody knew of the Nodes", made.Deleted)
	}
	if _, err := n.Command(t.Context(), "start", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		return n.Admin.CoreV1().Nodes().Delete(ctx, goes.Name, metav1.DeleteOptions{})
	})
	_, comes := n.Joins(t, "comes")
	podnetwork.AwaitTable(t, expect.Soon, n)
	n.AwaitReachable(t, expect.Soon)
	if d.Ended() {
		t.Errorf("the daemon has ended with code %d", d.Code())
	}
	podnetwork.AwaitConditionsWritten(t, n.Bed, mark, comes.Name+" False", goes.Name+" False", stays.Name+" False")
	if err := expect.Equal("calls", podnetwork.Changes{Created: 3, Deleted: 1}, podnetwork.RouteChanges(t, n.Cloud)); err != nil {
		t.Error(err)
	}
}

// Without a usable --cluster-cidr all other controllers work. Log, metric and event
// report that the route controller does not run. If --controllers names the route
// controller, the process exits.
func TestRoutesWithoutClusterCIDR(t *testing.T) {
	b := onShared(t)
	c := b.NewCloud(t)
	for name, tt := range map[string]struct{ cidr, words string }{
		"Missing":   {"", "--cluster-cidr is empty: give the CIDR of the pods, or turn routes off with --configure-cloud-routes=false"},
		"Wrong":     {"10.128.0.0", `--cluster-cidr: "10.128.0.0" is not a CIDR`},
		"OneFamily": {"10.128.0.0/9,10.0.0.0/16", "--cluster-cidr has two CIDRs of one family"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := []string{"--configure-cloud-routes", "--cluster-cidr=" + tt.cidr}
			before := podnetwork.CountOnLease(t, b, "Warning ControllerMisconfigured", tt.words)
			d := b.Daemon(t, daemon.Setup{Cloud: c.URL, Flags: flags})
			joins(t, b, c, expect.Soon)
			b.AwaitMetric(t, d, `fairlead_controller_misconfigured{name="node-route-controller"} 1`)
			d.AwaitLogged(t, "Controller does not run", "node-route-controller", strings.ReplaceAll(tt.words, `"`, `\"`))
			podnetwork.AwaitOnLease(t, b, before+1, "Warning ControllerMisconfigured: node-route-controller does not run: ", tt.words)
			if d.Ended() {
				t.Fatal("the daemon has ended")
			}
			if err := d.Stop(); err != nil {
				t.Error(err)
			}

			for _, controllers := range []string{"*,node-route-controller", "route"} {
				asked := b.Daemon(t, daemon.Setup{Cloud: c.URL, Flags: append(flags, "--controllers="+controllers)})
				if code := asked.AwaitExit(t, expect.Soon); code != 1 {
					t.Errorf("--controllers=%s: it has ended with code %d, want 1", controllers, code)
				}
				if !strings.Contains(asked.Log(), tt.words) {
					t.Errorf("--controllers=%s: it does not say why it ends:\n%s", controllers, asked.Tail(5))
				}
			}
		})
	}
	if routes, err := c.Routes(t.Context()); err != nil || len(routes) > 0 {
		t.Errorf("there are routes %v, error %v", routes, err)
	}
}

// Package podnetwork makes Nodes, and a simulated cloud whose routes lead to their pods.
// It checks that the routes and the condition NetworkUnavailable agree with the Nodes.
package podnetwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (
	// PodCIDR is the CIDR of the pods on a bed.
	PodCIDR = "10.128.0.0/9"
	// Source is the source of the route controller's events.
	Source = "route_controller"
	// RouteAgent is the suffix of the route controller's user agent.
	RouteAgent = "/route-controller"
	// Cluster1 is the default name of a cluster.
	Cluster1 = "kubernetes"
	// StrayFor is the time for which a route has to be stray in these tests before it is
	// deleted.
	StrayFor = 2 * time.Second
)

// Network is a cluster whose pods are reached by routes of a cloud.
type Network struct {
	*bed.Bed

	Cloud *bed.Cloud
	// Standing has the routes that stay, whatever happens to the Nodes.
	Standing []string
}

// New returns a network with a new cloud. The flags are those of simcloud.
func New(t *testing.T, b *bed.Bed, flags ...string) *Network {
	t.Helper()
	return &Network{Bed: b, Cloud: b.NewCloud(t, flags...)}
}

// Runs starts a daemon that maintains the routes and soon removes stray ones.
func (n *Network) Runs(t *testing.T, s daemon.Setup) *daemon.Daemon {
	t.Helper()
	return n.Daemon(t, n.Setup(s))
}

// Setup returns the setup of a daemon that maintains the routes and soon removes
// stray ones.
func (n *Network) Setup(s daemon.Setup) daemon.Setup {
	s.Cloud = cmp.Or(s.Cloud, n.Cloud.URL)
	s.Pods = cmp.Or(s.Pods, PodCIDR)
	s.Flags = append([]string{"--route-deletion-stray-for=" + StrayFor.String(), "--route-reconciliation-period=1s"}, s.Flags...)
	return s
}

// Joins adds a Node with its instance.
func (n *Network) Joins(t *testing.T, base string) (simulator.Instance, *corev1.Node) {
	t.Helper()
	return n.Pair(t, n.Cloud, simulator.Instance{Name: n.Name(base)})
}

// Registers adds a Node for an instance. If cidr is not empty, the Node has this CIDR.
func (n *Network) Registers(t *testing.T, i simulator.Instance, cidr string) *corev1.Node {
	t.Helper()
	node := nodes.New(i.Name)
	if cidr != "" {
		node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
	}
	return n.Register(t, node)
}

// Leaves deletes a Node, as its owner would.
func (n *Network) Leaves(t *testing.T, name string) {
	t.Helper()
	if err := n.Admin.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// Plants adds routes to the cloud.
func (n *Network) Plants(t *testing.T, routes ...simulator.Route) []simulator.Route {
	t.Helper()
	for k, r := range routes {
		r.Name = cmp.Or(r.Name, n.Name("planted"))
		created, err := n.Cloud.CreateRoute(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		routes[k] = created
	}
	return routes
}

// Owned returns the tags of a route that a cluster has made for a node.
func Owned(cluster, node string) map[string]string {
	return map[string]string{simulated.TagCluster: cluster, simulated.TagNode: node}
}

// line returns a route as text, so that routes can be compared.
func line(destination, target string) string { return destination + " " + target }

// Lines returns the routes as text, sorted, so that they can be compared.
func Lines(routes []simulator.Route) []string {
	var all []string
	for _, r := range routes {
		all = append(all, line(r.Destination, r.Target))
	}
	slices.Sort(all)
	return all
}

// NodesWithCIDRs returns the Nodes of the cluster. It returns an error if one of them
// has no CIDR yet.
func NodesWithCIDRs(ctx context.Context, b *bed.Bed) ([]corev1.Node, error) {
	list, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, node := range list.Items {
		if len(node.Spec.PodCIDRs) == 0 {
			return nil, fmt.Errorf("node %s has no CIDR yet", node.Name)
		}
	}
	return list.Items, nil
}

// wanted returns the routes that the Nodes must have, as text. Each Node must have an
// instance in this cloud.
func (n *Network) wanted(ctx context.Context) ([]string, error) {
	nodes, err := NodesWithCIDRs(ctx, n.Bed)
	if err != nil {
		return nil, err
	}
	instances, err := n.Cloud.Instances(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, i := range instances {
		if i.State != simulator.Terminated {
			ids[i.Name] = i.ID
		}
	}
	var all []string
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			all = append(all, line(cidr, ids[node.Name]))
		}
	}
	return all, nil
}

// AwaitTable waits until the cloud has exactly the routes of the networks' Nodes and the
// routes in Standing. All networks must share one cloud.
func AwaitTable(t *testing.T, within time.Duration, networks ...*Network) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		var want []string
		for _, n := range networks {
			all, err := n.wanted(ctx)
			if err != nil {
				return err
			}
			want = append(want, slices.Concat(all, n.Standing)...)
		}
		slices.Sort(want)
		routes, err := networks[0].Cloud.Routes(ctx)
		if err != nil {
			return err
		}
		return expect.Equal("routes", want, Lines(routes))
	})
}

// networkCondition returns the condition NetworkUnavailable of a Node as text.
func networkCondition(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "none"
}

// Reachable and Unreachable are the texts of the condition NetworkUnavailable as
// upstream writes it.
const (
	Reachable   = "False RouteCreated: RouteController created a route"
	Unreachable = "True NoRouteCreated: RouteController failed to create a route"
)

// Shows returns a check that a Node shows this condition NetworkUnavailable.
func Shows(condition string) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if now := networkCondition(node); now != condition {
			return fmt.Errorf("it shows %q, want %q", now, condition)
		}
		return nil
	}
}

// AwaitReachable waits until all Nodes show that they have their routes.
func (n *Network) AwaitReachable(t *testing.T, within time.Duration) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		nodes, err := NodesWithCIDRs(ctx, n.Bed)
		for k := range nodes {
			err = errors.Join(err, Shows(Reachable)(&nodes[k]))
		}
		return err
	})
}

// ConditionsWritten returns the writes of the condition NetworkUnavailable, in order:
// for each write, the name of the Node and the status. Failed requests do not count.
func ConditionsWritten(t *testing.T, b *bed.Bed, mark int64) []string {
	t.Helper()
	var all []string
	for _, r := range b.Audit(t).Since(mark).OfDaemons().Writes().Done() {
		if body := string(r.Body); r.Object.Resource == "nodes" && strings.Contains(body, string(corev1.NodeNetworkUnavailable)) {
			status := "False"
			if strings.Contains(body, `"status":"True"`) {
				status = "True"
			}
			all = append(all, r.Object.Name+" "+status)
			if !strings.HasSuffix(r.UserAgent, RouteAgent) {
				t.Errorf("user agent %q, want upstream's suffix %s", r.UserAgent, RouteAgent)
			}
		}
	}
	return all
}

// AwaitConditionsWritten waits until ConditionsWritten returns these writes. The order of
// the Nodes does not matter. It waits because a write can be visible before the API
// server has logged it.
func AwaitConditionsWritten(t *testing.T, b *bed.Bed, mark int64, want ...string) {
	t.Helper()
	byNode := func(x, y string) int {
		first, _, _ := strings.Cut(x, " ")
		second, _, _ := strings.Cut(y, " ")
		return cmp.Compare(first, second)
	}
	slices.SortStableFunc(want, byNode)
	expect.Within(t, expect.Soon, func(context.Context) error {
		got := ConditionsWritten(t, b, mark)
		slices.SortStableFunc(got, byNode)
		return expect.Equal("writes of the condition", want, got)
	})
}

// Changes has the numbers of calls that create and delete routes. Calls that fail count,
// too.
type Changes struct{ Created, Deleted int64 }

// RouteChanges returns how many of these calls the cloud has received so far.
func RouteChanges(t *testing.T, c *bed.Cloud) Changes {
	t.Helper()
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Changes{Created: report.Count(simulator.CreateRoute), Deleted: report.Count(simulator.DeleteRoute)}
}

// AwaitListings waits until the routes have been listed this many more times.
func AwaitListings(t *testing.T, c *bed.Cloud, times int64) {
	t.Helper()
	listings := func(ctx context.Context) int64 {
		report, err := c.Calls(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return report.Count(simulator.ListRoutes)
	}
	before := listings(t.Context())
	expect.Within(t, time.Minute, func(ctx context.Context) error {
		if now := listings(ctx) - before; now < times {
			return fmt.Errorf("the routes were listed %d times, want %d", now, times)
		}
		return nil
	})
}

// CountOnLease counts the route controller's events about the Lease. It counts only
// events that begin with start and contain all words.
func CountOnLease(t *testing.T, b *bed.Bed, start string, words ...string) int {
	t.Helper()
	all, err := toldOnLease(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return countWith(all, start, words)
}

// AwaitOnLease waits until CountOnLease returns this number of events.
func AwaitOnLease(t *testing.T, b *bed.Bed, times int, start string, words ...string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		all, err := toldOnLease(ctx, b)
		if err != nil {
			return err
		}
		if n := countWith(all, start, words); n != times {
			return fmt.Errorf("%d events %q with %q, want %d: %q", n, start, words, times, all)
		}
		return nil
	})
}

func countWith(all []string, start string, words []string) int {
	return expect.CountPrefix(slices.DeleteFunc(slices.Clone(all), func(told string) bool { return !expect.HasWords(told, words) }), start)
}

// toldOnLease returns the events of the route controller about the daemon's Lease.
func toldOnLease(ctx context.Context, b *bed.Bed) ([]string, error) {
	list, err := b.Admin.CoreV1().Events(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Lease,involvedObject.name=" + daemon.LeaseName})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list.Items {
		for range max(e.Count, 1) {
			if e.Source.Component == Source {
				all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
			}
		}
	}
	return all, nil
}

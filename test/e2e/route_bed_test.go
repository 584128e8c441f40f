package e2e

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
)

const (
	podCIDR     = "10.128.0.0/9"     // of the pods on a bed
	routeSource = "route_controller" // of its events
	routeAgent  = "/route-controller"
	cluster1    = "kubernetes" // the name of a cluster that has been given none
	// strayFor is how long the routes of these tests look stray before they go.
	strayFor = 2 * time.Second
)

// network is a cluster whose pods are reached by routes of a cloud.
type network struct {
	*bed

	cloud *cloud
	// standing are the routes that stay whatever becomes of the Nodes.
	standing []string
}

// network starts the cloud; simcloud takes the flags.
func (b *bed) network(t *testing.T, flags ...string) *network {
	t.Helper()
	return &network{bed: b, cloud: b.bareCloud(t, flags...)}
}

// runs starts a daemon that keeps the routes and soon removes stray ones.
func (n *network) runs(t *testing.T, s setup) *daemon {
	t.Helper()
	return n.daemon(t, n.setup(s))
}

func (n *network) setup(s setup) setup {
	s.cloud = cmp.Or(s.cloud, n.cloud.url)
	s.pods = cmp.Or(s.pods, podCIDR)
	s.flags = append([]string{"--route-deletion-stray-for=" + strayFor.String(), "--route-reconciliation-period=1s"}, s.flags...)
	return s
}

// joins adds a Node with its instance.
func (n *network) joins(t *testing.T, base string) (simulator.Instance, *corev1.Node) {
	t.Helper()
	return n.pair(t, n.cloud, simulator.Instance{Name: n.name(base)})
}

// registers adds a Node whose CIDR is given, for an instance.
func (n *network) registers(t *testing.T, i simulator.Instance, cidr string) *corev1.Node {
	t.Helper()
	node := plain(i.Name)
	if cidr != "" {
		node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
	}
	return n.register(t, node)
}

// leaves deletes a Node, as its owner would.
func (n *network) leaves(t *testing.T, name string) {
	t.Helper()
	if err := n.admin.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// plants adds routes to the cloud.
func (n *network) plants(t *testing.T, routes ...simulator.Route) []simulator.Route {
	t.Helper()
	for k, r := range routes {
		r.Name = cmp.Or(r.Name, n.name("planted"))
		created, err := n.cloud.CreateRoute(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		routes[k] = created
	}
	return routes
}

// owned are the tags of a route that a cluster has made for a node.
func owned(cluster, node string) map[string]string {
	return map[string]string{simulated.TagCluster: cluster, simulated.TagNode: node}
}

// line is a route for comparison: where to, and the ID of the instance.
func line(destination, target string) string { return destination + " " + target }

func lines(routes []simulator.Route) []string {
	var all []string
	for _, r := range routes {
		all = append(all, line(r.Destination, r.Target))
	}
	slices.Sort(all)
	return all
}

// allNodes are those of the cluster, which have their CIDRs.
func (b *bed) allNodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := b.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
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

// wanted are the routes of all Nodes, in a cloud in which each is.
func (n *network) wanted(ctx context.Context) ([]string, error) {
	nodes, err := n.allNodes(ctx)
	if err != nil {
		return nil, err
	}
	instances, err := n.cloud.Instances(ctx)
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

// awaitTable waits until the cloud has exactly the routes of the Nodes of these
// networks, which share it, and those that stand.
func awaitTable(t *testing.T, within time.Duration, networks ...*network) {
	t.Helper()
	await(t, within, func(ctx context.Context) error {
		var want []string
		for _, n := range networks {
			all, err := n.wanted(ctx)
			if err != nil {
				return err
			}
			want = append(want, slices.Concat(all, n.standing)...)
		}
		slices.Sort(want)
		routes, err := networks[0].cloud.Routes(ctx)
		if err != nil {
			return err
		}
		return differ("routes", want, lines(routes))
	})
}

// networkCondition is what a Node says of its network.
func networkCondition(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "none"
}

// As upstream has it.
const (
	reachable   = "False RouteCreated: RouteController created a route"
	unreachable = "True NoRouteCreated: RouteController failed to create a route"
)

func shows(condition string) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if now := networkCondition(node); now != condition {
			return fmt.Errorf("it shows %q, want %q", now, condition)
		}
		return nil
	}
}

// awaitReachable waits until all Nodes show that they have their routes.
func (n *network) awaitReachable(t *testing.T, within time.Duration) {
	t.Helper()
	await(t, within, func(ctx context.Context) error {
		nodes, err := n.allNodes(ctx)
		for k := range nodes {
			err = errors.Join(err, shows(reachable)(&nodes[k]))
		}
		return err
	})
}

// conditionsWritten is what was written of the network, in order: the names of
// Nodes with the status.
func (b *bed) conditionsWritten(t *testing.T, mark int64) []string {
	t.Helper()
	var all []string
	for _, r := range b.audit(t).since(mark).ours().writes() {
		if body := string(r.Body); r.Object.Resource == "nodes" && strings.Contains(body, string(corev1.NodeNetworkUnavailable)) {
			status := "False"
			if strings.Contains(body, `"status":"True"`) {
				status = "True"
			}
			all = append(all, r.Object.Name+" "+status)
			if !strings.HasSuffix(r.UserAgent, routeAgent) {
				t.Errorf("user agent %q, want upstream's suffix %s", r.UserAgent, routeAgent)
			}
		}
	}
	return all
}

// changes is how many routes were created and deleted, as the cloud has it.
type changes struct{ Created, Deleted int64 }

func (c *cloud) changes(t *testing.T) changes {
	t.Helper()
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes{Created: report.Count(simulator.CreateRoute), Deleted: report.Count(simulator.DeleteRoute)}
}

// awaitListings waits until the routes were listed so many times more.
func (c *cloud) awaitListings(t *testing.T, times int64) {
	t.Helper()
	listings := func(ctx context.Context) int64 {
		report, err := c.Calls(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return report.Count(simulator.ListRoutes)
	}
	before := listings(t.Context())
	await(t, time.Minute, func(ctx context.Context) error {
		if now := listings(ctx) - before; now < times {
			return fmt.Errorf("the routes were listed %d times, want %d", now, times)
		}
		return nil
	})
}

// awaitMetric waits for a line of the daemon's metrics.
func (b *bed) awaitMetric(t *testing.T, d *daemon, line string) {
	t.Helper()
	await(t, soon, func(ctx context.Context) error {
		lines, err := b.metrics(ctx, d)
		if err != nil {
			return err
		}
		if !slices.Contains(lines, line) {
			return fmt.Errorf("no metric %q", line)
		}
		return nil
	})
}

// countOnLease is how many events there are that start so and have these words.
func (b *bed) countOnLease(t *testing.T, start string, words ...string) int {
	t.Helper()
	all, err := b.toldOnLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return countWith(all, start, words)
}

func (b *bed) awaitOnLease(t *testing.T, times int, start string, words ...string) {
	t.Helper()
	await(t, soon, func(ctx context.Context) error {
		all, err := b.toldOnLease(ctx)
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
	return count(slices.DeleteFunc(slices.Clone(all), func(told string) bool { return !containsAll(told, words) }), start)
}

// toldOnLease are the events of the route controller about the process's lease.
func (b *bed) toldOnLease(ctx context.Context) ([]string, error) {
	list, err := b.admin.CoreV1().Events(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Lease,involvedObject.name=" + leaseName})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list.Items {
		for range max(e.Count, 1) {
			if e.Source.Component == routeSource {
				all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
			}
		}
	}
	return all, nil
}

package demo

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// facts records the observations of the demo.
type facts struct {
	instances []simulator.Instance
	// waited is the number of nodes that were registered but not yet initialised before the daemon
	// was started.
	waited int
	// pendingBecause is the scheduler's message while the nodes waited.
	pendingBecause string
	// nodes and pod record the state at the time when the pod ran and all nodes had
	// their routes.
	nodes []corev1.Node
	pod   corev1.Pod
	// routes lists all routes in the cloud at the time when the conditions of all nodes said that
	// their routes exist.
	routes []simulator.Route

	// service is the Service, and balancers lists all load balancers in the cloud. Both were recorded
	// when the load balancer carried traffic.
	service   corev1.Service
	balancers []simulator.LoadBalancer
	replies   []reply
	// left lists all load balancers that the cloud still had when the Service no
	// longer existed.
	left []simulator.LoadBalancer
}

// check is one expectation. If it is not met, the field problem says why.
type check struct {
	what    string
	problem string
}

// checks compares the recorded facts with the instances in the cloud.
func (f facts) checks() []check {
	checks := []check{
		equal("nodes that registered and waited", f.waited, len(f.instances)),
		nonEmpty("the pod was Pending before", f.pendingBecause),
		equal("routes in the cloud", len(f.routes), len(f.instances)),
	}
	nodes := map[string]corev1.Node{}
	for _, n := range f.nodes {
		nodes[n.Name] = n
	}
	for _, i := range f.instances {
		checks = append(checks, f.nodeChecks(nodes[i.Name], i)...)
	}
	checks = append(checks,
		equal("the pod is", f.pod.Status.Phase, corev1.PodRunning),
		nonEmpty("the pod has a node", f.pod.Spec.NodeName),
	)
	return append(checks, f.serviceChecks()...)
}

func (f facts) serviceChecks() []check {
	checks := []check{
		equal("load balancers in the cloud", len(f.balancers), 1),
		equal("healthy backends", healthy(f.balancers), len(f.instances)),
	}
	for _, b := range f.balancers {
		checks = append(checks, equal("the Service's address", address(f.service), b.Address))
	}
	checks = append(checks, equal("the Service's condition "+serving, condition(f.service, serving), metav1.ConditionTrue))
	answered := map[string]bool{}
	for _, r := range f.replies {
		checks = append(checks, oneOf("curl "+r.url, r.text, f.greetings()))
		answered[r.text] = true
	}
	return append(checks,
		equal("nodes that answered", len(answered), 2),
		equal("load balancers in the cloud without the Service", len(f.left), 0),
	)
}

// greetings returns the expected answers, one for each node.
func (f facts) greetings() []string {
	var all []string
	for _, i := range f.instances {
		all = append(all, fmt.Sprintf("hello from %s (Service %s/%s, port 80)", i.Name, namespace, app))
	}
	return all
}

// serving is the condition of a Service whose load balancer has an address and nodes behind it.
const serving = "LoadBalancerServing"

func condition(s corev1.Service, name string) metav1.ConditionStatus {
	for _, c := range s.Status.Conditions {
		if c.Type == name {
			return c.Status
		}
	}
	return ""
}

func (f facts) nodeChecks(n corev1.Node, i simulator.Instance) []check {
	checks := []check{
		equal("zone", n.Labels[corev1.LabelTopologyZone], i.Zone),
		equal("region", n.Labels[corev1.LabelTopologyRegion], i.Region),
		equal("type", n.Labels[corev1.LabelInstanceTypeStable], i.Type),
		equal("provider ID", n.Spec.ProviderID, fmt.Sprintf("simulated://%s/%s", i.Region, i.ID)),
		equal("addresses", nodeAddresses(n), instanceAddresses(i)),
		equal("taint", taint(n), "gone"),
		nonEmpty("pod CIDR", n.Spec.PodCIDR),
		equal("route", f.routesTo(i.ID), n.Spec.PodCIDR),
		equal(string(corev1.NodeNetworkUnavailable), nodeCondition(n, corev1.NodeNetworkUnavailable), corev1.ConditionFalse),
	}
	for j := range checks {
		checks[j].what = i.Name + ": " + checks[j].what
	}
	return checks
}

// table returns the table that the demo prints for the user.
func (f facts) table() string {
	nodes := [][]string{{"NODE", "ZONE", "TYPE", "PROVIDER ID", "ADDRESSES", "POD ROUTE"}}
	for _, n := range f.nodes {
		nodes = append(nodes, []string{
			n.Name, n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelInstanceTypeStable],
			n.Spec.ProviderID, nodeAddresses(n), f.routesTo(path.Base(n.Spec.ProviderID)),
		})
	}
	return aligned(nodes)
}

// routesTo returns the destinations that the cloud routes to an instance.
func (f facts) routesTo(instance string) string {
	var all []string
	for _, r := range f.routes {
		if r.Target == instance && r.State == simulator.RouteActive {
			all = append(all, r.Destination)
		}
	}
	return strings.Join(all, ", ")
}

func aligned(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		_, _ = w.Write([]byte(strings.Join(row, "\t") + "\n")) // writing to a strings.Builder cannot fail
	}
	_ = w.Flush()
	return b.String()
}

func taint(n corev1.Node) string {
	if waits(n) {
		return "still there"
	}
	return "gone"
}

// nodeAddresses returns the addresses without Hostname, which does not come from the cloud: the kubelet sets it.
func nodeAddresses(n corev1.Node) string {
	var all []string
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeHostName {
			all = append(all, fmt.Sprintf("%s %s", a.Type, a.Address))
		}
	}
	return strings.Join(all, ", ")
}

func instanceAddresses(i simulator.Instance) string {
	var all []string
	for _, a := range i.Addresses {
		all = append(all, fmt.Sprintf("%s %s", a.Type, a.Address))
	}
	return strings.Join(all, ", ")
}

func equal[T comparable](what string, got, want T) check {
	if got != want {
		return check{what: what, problem: fmt.Sprintf("%v, want %v", got, want)}
	}
	return check{what: fmt.Sprintf("%s %v", what, got)}
}

func oneOf(what, got string, want []string) check {
	if !slices.Contains(want, got) {
		return check{what: what, problem: fmt.Sprintf("%q, want one of %q", got, want)}
	}
	return check{what: what + ": " + got}
}

func nonEmpty(what, got string) check {
	if got == "" {
		return check{what: what, problem: "missing"}
	}
	return check{what: what + ": " + got}
}

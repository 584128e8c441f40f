package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// trace records a daemon's requests to the API server and its calls of the provider.
type trace struct {
	mu      sync.Mutex
	entries []traced // guarded by mu
}

// traced is one request or call, with its time in testing/synctest.
type traced struct {
	at   time.Time
	text string
}

func (t *trace) note(format string, arguments ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, traced{time.Now(), fmt.Sprintf(format, arguments...)})
}

// String returns all entries in order. Entries of the same time have no defined
// order, so they are sorted by their text.
func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.entries, func(a, b traced) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	var text strings.Builder
	for _, e := range t.entries {
		text.WriteString(e.text + "\n")
	}
	return text.String()
}

var (
	// eventName matches the end of an event's name: the time in hexadecimal.
	eventName = regexp.MustCompile(`(\.)[0-9a-f]{15,16}$`)
	instant   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z$`)
)

// normalised returns a JSON body in a form that does not depend on times, versions
// or the order of fields.
func normalised(body []byte) string {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Sprintf("%q", body)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(without("", value)) // This cannot fail, because value was decoded from JSON.
	return strings.TrimSpace(text.String())
}

// without replaces the parts of a field's value that differ from run to run.
func without(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = without(key, v[key])
		}
	case []any:
		for i := range v {
			v[i] = without(field, v[i])
		}
	case string:
		switch {
		case instant.MatchString(v):
			return "<time>"
		case field == "resourceVersion":
			return "<version>"
		case field == "name":
			return eventName.ReplaceAllString(v, "$1<time>")
		}
	}
	return value
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// tracedCloud is a provider with instances, load balancers and routes. It traces each
// call. A call takes ten moments; see the constant moment.
type tracedCloud struct {
	cloudprovider.Interface

	trace *trace

	mu        sync.Mutex
	instances map[string]string               // addresses by name; guarded by mu
	balancers map[types.UID]string            // addresses; guarded by mu
	routes    map[string]*cloudprovider.Route // by destination; guarded by mu
}

func newTracedCloud(tr *trace) *tracedCloud {
	return &tracedCloud{trace: tr, instances: map[string]string{}, balancers: map[types.UID]string{}, routes: map[string]*cloudprovider.Route{}}
}

func (c *tracedCloud) call(format string, arguments ...any) {
	c.trace.note("call "+format, arguments...)
	time.Sleep(10 * moment)
}

// set changes the resources of the cloud.
func (c *tracedCloud) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (*tracedCloud) ProviderName() string { return "test" }

func (*tracedCloud) HasClusterID() bool { return true }

func (*tracedCloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (*tracedCloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (c *tracedCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

func (c *tracedCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c, true }

func (c *tracedCloud) Routes() (cloudprovider.Routes, bool) { return c, true }

// address returns the address of the Node's instance, if there is one.
func (c *tracedCloud) address(n *corev1.Node) (address string, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := n.Name
	if n.Spec.ProviderID != "" {
		name = strings.TrimPrefix(n.Spec.ProviderID, "test://")
	}
	address, exists = c.instances[name]
	return address, exists
}

// InstanceExists implements cloudprovider.InstancesV2.
func (c *tracedCloud) InstanceExists(_ context.Context, n *corev1.Node) (bool, error) {
	c.call("InstanceExists %s", n.Name)
	_, exists := c.address(n)
	return exists, nil
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (c *tracedCloud) InstanceShutdown(_ context.Context, n *corev1.Node) (bool, error) {
	c.call("InstanceShutdown %s", n.Name)
	return false, nil
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (c *tracedCloud) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	c.call("InstanceMetadata %s", n.Name)
	address, exists := c.address(n)
	if !exists {
		return nil, cloudprovider.InstanceNotFound
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: "test://" + n.Name, InstanceType: "small", Zone: "z1", Region: "r1",
		NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: n.Name}},
	}, nil
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (c *tracedCloud) GetLoadBalancer(_ context.Context, cluster string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	c.call("GetLoadBalancer %s %s", cluster, s.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	address, exists := c.balancers[s.UID]
	return balanced(address), exists, nil
}

func balanced(address string) *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address}}}
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer. It makes no call.
func (*tracedCloud) GetLoadBalancerName(_ context.Context, _ string, s *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(s)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (c *tracedCloud) EnsureLoadBalancer(_ context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	c.call("EnsureLoadBalancer %s %s %d %s", cluster, s.Name, s.Spec.Ports[0].Port, nodeNames(nodes))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.balancers[s.UID] = "192.0.2.1"
	return balanced("192.0.2.1"), nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (c *tracedCloud) UpdateLoadBalancer(_ context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	c.call("UpdateLoadBalancer %s %s %s", cluster, s.Name, nodeNames(nodes))
	return nil
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (c *tracedCloud) EnsureLoadBalancerDeleted(_ context.Context, cluster string, s *corev1.Service) error {
	c.call("EnsureLoadBalancerDeleted %s %s %v", cluster, s.Name, s.Status.LoadBalancer.Ingress)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.balancers, s.UID)
	return nil
}

func nodeNames(nodes []*corev1.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// ListRoutes implements cloudprovider.Routes.
func (c *tracedCloud) ListRoutes(_ context.Context, cluster string) ([]*cloudprovider.Route, error) {
	c.call("ListRoutes %s", cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*cloudprovider.Route
	for _, destination := range sortedKeys(c.routes) {
		r := *c.routes[destination]
		all = append(all, &r)
	}
	return all, nil
}

// CreateRoute implements cloudprovider.Routes.
func (c *tracedCloud) CreateRoute(_ context.Context, cluster, hint string, r *cloudprovider.Route) error {
	c.call("CreateRoute %s %s %s %s", cluster, hint, r.DestinationCIDR, r.TargetNode)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes[r.DestinationCIDR] = &cloudprovider.Route{
		Name: hint, TargetNode: r.TargetNode, DestinationCIDR: r.DestinationCIDR,
	}
	return nil
}

// DeleteRoute implements cloudprovider.Routes.
func (c *tracedCloud) DeleteRoute(_ context.Context, cluster string, r *cloudprovider.Route) error {
	c.call("DeleteRoute %s %s %s", cluster, r.Name, r.DestinationCIDR)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.routes, r.DestinationCIDR)
	return nil
}

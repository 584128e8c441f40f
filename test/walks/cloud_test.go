package walks_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// machine is an instance of the cloud.
type machine struct {
	id, name  string
	address   string
	gone      bool // terminated
	down      bool // stopped
	rack      int  // the newest value of the label that the cloud gives it
	reporting bool // its kubelet writes the status of the Node
	flaw      *flaw
	// region and zone say where it is. born and ended are set in the walk of lies.
	region, zone string
	born, ended  time.Time
}

// balancer is a load balancer of the cloud.
type balancer struct {
	address  string
	backends []string // names of Nodes
	port     int32
}

// weather is the current behaviour of the cloud: it says how the cloud answers.
type weather struct {
	name string
	err  error // of each call
	// denies means that the cloud calls each instance absent.
	denies bool
	// loses means that some changes and some replies to changes are lost.
	loses bool
	// lie says which instances the cloud shows; nil means those that exist.
	lie   func(*machine) bool
	takes time.Duration // of each call
}

var (
	fair     = weather{name: "fair", takes: 100 * time.Millisecond}
	weathers = []weather{
		fair, fair,
		{name: "errors that nobody can read", err: errors.New("E1017"), takes: 50 * time.Millisecond},
		{name: "503", err: &quirks.StatusError{Status: http.StatusServiceUnavailable, Text: "unavailable"}, takes: time.Second},
		{name: "429", err: &quirks.StatusError{Status: http.StatusTooManyRequests, Text: "slow down"}},
		{name: "403", err: &quirks.StatusError{Status: http.StatusForbidden, Text: "forbidden"}, takes: 100 * time.Millisecond},
		{name: "400", err: &quirks.StatusError{Status: http.StatusBadRequest, Text: "bad request"}},
		{name: "409", err: &quirks.StatusError{Status: http.StatusConflict, Text: "locked"}},
		{name: "a quota is used up", err: errors.New("quota exceeded: no more of them")},
		{name: "a deadline of the provider's own", err: context.DeadlineExceeded, takes: time.Second},
		{name: "not implemented", err: cloudprovider.NotImplemented},
		{name: "a pause", err: api.NewRetryError("maintenance", 3*time.Minute)},
		{name: "404 for all", denies: true, takes: 100 * time.Millisecond},
		{name: "lost replies", loses: true, takes: 100 * time.Millisecond},
		{name: "slow", takes: 40 * time.Second},
	}
	errLost   = errors.New("unexpected EOF")
	errBroken = errors.New("the annotation size has no such value")
)

// vendor is the provider without quirks.
type vendor struct {
	cloudprovider.Interface

	w *world
}

func (vendor) ProviderName() string                       { return "p" }
func (vendor) HasClusterID() bool                         { return true }
func (vendor) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (vendor) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (vendor) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (vendor) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (v vendor) InstancesV2() (cloudprovider.InstancesV2, bool)                  { return instances{v.w}, true }

func (v vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return balancers{w: v.w}, true
}

// call waits for the time that one call to the cloud takes. It returns the weather at the
// end of the call.
func (w *world) call(ctx context.Context) weather {
	w.mu.Lock()
	takes := w.weather.takes
	w.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.weather
	if ctx.Err() != nil {
		now.err = ctx.Err()
	}
	return now
}

// isShown reports whether the cloud says that the machine exists. The caller holds mu.
func (w *world) isShown(m *machine) bool {
	if w.weather.lie != nil {
		return w.weather.lie(m)
	}
	return !m.gone
}

type instances struct{ w *world }

// find returns the machine of a Node: the one with its provider ID or, if the Node
// has none, the one with its name. The caller holds mu.
func (w *world) find(n *corev1.Node) *machine {
	if n.Spec.ProviderID != "" {
		if m := w.machines[bare(n.Spec.ProviderID)]; m != nil && w.isShown(m) {
			return m
		}
		return nil
	}
	for _, m := range w.machines {
		if m.name == n.Name && w.isShown(m) {
			return m
		}
	}
	return nil
}

// bare returns a provider ID without its scheme.
func bare(providerID string) string {
	if _, id, ok := strings.Cut(providerID, "://"); ok {
		return id
	}
	return providerID
}

// ask returns the machine of a Node. It returns nil if there is none, or if the cloud
// says that there is none.
func (i instances) ask(ctx context.Context, n *corev1.Node) (*machine, error) {
	now := i.w.call(ctx)
	i.w.mu.Lock()
	defer i.w.mu.Unlock()
	i.w.asked(n)
	m := i.w.find(n)
	if now.err != nil {
		return nil, now.err
	}
	if m == nil || now.denies {
		return nil, nil //nolint:nilnil // absent
	}
	if m.flaw != nil && m.flaw.err != nil {
		return nil, m.flaw.err
	}
	found := *m
	return &found, nil
}

// InstanceExists implements cloudprovider.InstancesV2.
func (i instances) InstanceExists(ctx context.Context, n *corev1.Node) (bool, error) {
	m, err := i.ask(ctx, n)
	return m != nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i instances) InstanceShutdown(ctx context.Context, n *corev1.Node) (bool, error) {
	m, err := i.ask(ctx, n)
	return m != nil && m.down, err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i instances) InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := i.ask(ctx, n)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	if m.flaw != nil && m.flaw.unknown {
		return nil, nil //nolint:nilnil // as some providers do
	}
	i.w.mu.Lock()
	defer i.w.mu.Unlock()
	return i.w.metadata(n, m), nil
}

// metadata returns the cloud's metadata of the machine.
func (m *machine) metadata() *cloudprovider.InstanceMetadata {
	return &cloudprovider.InstanceMetadata{
		ProviderID: "p://" + m.id, InstanceType: "small", Zone: m.zone, Region: m.region,
		NodeAddresses:    []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.address}, {Type: corev1.NodeExternalIP, Address: m.address}},
		AdditionalLabels: map[string]string{rackLabel: rack(m.rack)},
	}
}

type balancers struct {
	cloudprovider.LoadBalancer

	w *world
}

// change makes one call that changes the cloud.
func (w *world) change(ctx context.Context, do func() error) error {
	now := w.call(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case now.err != nil:
		return now.err
	case now.loses && w.luck.IntN(4) == 0:
		return errLost
	}
	err := do()
	if err == nil && now.loses && w.luck.IntN(3) == 0 {
		return errLost
	}
	return err
}

// isBroken reports whether the cloud refuses the load balancer that the Service asks for.
func isBroken(s *corev1.Service) bool { return s.Annotations["size"] == "wrong" }

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancers) EnsureLoadBalancer(ctx context.Context, _ string, s *corev1.Service, nodes []*corev1.Node) (status *corev1.LoadBalancerStatus, err error) {
	err = b.w.change(ctx, func() error {
		if isBroken(s) {
			return errBroken
		}
		lb := b.w.balance[s.UID]
		if lb == nil {
			lb = &balancer{address: b.w.address()}
			b.w.balance[s.UID] = lb
		}
		lb.backends, lb.port = names(nodes), s.Spec.Ports[0].Port
		status = &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: lb.address}}}
		return nil
	})
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancers) UpdateLoadBalancer(ctx context.Context, _ string, s *corev1.Service, nodes []*corev1.Node) error {
	return b.w.change(ctx, func() error {
		lb := b.w.balance[s.UID]
		if lb == nil {
			return errors.New("there is no such load balancer")
		}
		lb.backends = names(nodes)
		return nil
	})
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, s *corev1.Service) error {
	return b.w.change(ctx, func() error {
		delete(b.w.balance, s.UID)
		return nil
	})
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancers) GetLoadBalancer(ctx context.Context, _ string, s *corev1.Service) (status *corev1.LoadBalancerStatus, exists bool, err error) {
	err = b.w.change(ctx, func() error {
		exists = b.w.balance[s.UID] != nil
		return nil
	})
	return nil, exists, err
}

// names returns the names of the Nodes, in order.
func names(nodes []*corev1.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return all
}

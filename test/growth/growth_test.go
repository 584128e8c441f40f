package growth_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// cluster is an API server, a cloud, and the daemon between them. It runs in
// testing/synctest, which has its own time.
type cluster struct {
	*plane
	vendor

	size   int
	looked atomic.Int64 // how often the controllers have checked a Node
	told   atomic.Int64 // number of events
	began  time.Time
}

// vendor is a provider that offers none of Fairlead's optional interfaces.
type vendor struct {
	cloudprovider.Interface

	calls *atomic.Int64
	gone  *sync.Map // names of the instances that are gone
}

func (vendor) ProviderName() string                                              { return "p" }
func (vendor) HasClusterID() bool                                                { return true }
func (vendor) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (vendor) Instances() (cloudprovider.Instances, bool)                        { return nil, false }

func (vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (v vendor) InstancesV2() (cloudprovider.InstancesV2, bool) { return v, true }

// InstanceExists, InstanceShutdown and InstanceMetadata implement InstancesV2.
func (v vendor) InstanceExists(_ context.Context, n *corev1.Node) (bool, error) {
	v.calls.Add(1)
	_, gone := v.gone.Load(n.Name)
	return !gone, nil
}

func (v vendor) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	v.calls.Add(1)
	return false, nil
}

func (v vendor) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	v.calls.Add(1)
	return &cloudprovider.InstanceMetadata{
		ProviderID: "p://" + n.Name, InstanceType: "small", Zone: "z" + n.Name[len(n.Name)-1:], Region: "r",
		NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
	}, nil
}

// Node counts an event. It implements the recorder interface of each controller that runs
// here.
func (c *cluster) Node(*corev1.Node, string, string, string) { c.told.Add(1) }

func nameOf(n int) string { return fmt.Sprintf("n%05d", n) }

func newCluster(size int) *cluster {
	c := &cluster{plane: newPlane(), vendor: vendor{calls: &atomic.Int64{}, gone: &sync.Map{}}, size: size, began: time.Now()}
	for n := range size {
		c.change(nameOf(n), func(node *corev1.Node) {
			node.UID, node.CreationTimestamp = types.UID("u-"+node.Name), metav1.NewTime(c.began)
			node.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
			ready(corev1.ConditionTrue)(node)
		})
	}
	return c
}

// ready returns a function that writes the condition Ready, as the kubelet or
// kube-controller-manager does.
func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		is := corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()}
		for i, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				n.Status.Conditions[i] = is
				return
			}
		}
		n.Status.Conditions = append(n.Status.Conditions, is)
	}
}

// start runs the Node controllers until stop is called.
func (c *cluster) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.New(nil)))
	made, err := cloud.Make(ctx, func(context.Context) (cloudprovider.Interface, error) { return c.vendor, nil })
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := made.Open(ctx, cloud.Config{WithoutRoutes: true})
	if err != nil {
		t.Fatal(err)
	}
	claim := ownership.Claim{Nodes: func(*corev1.Node) bool { c.looked.Add(1); return true }}
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{
		node.New(node.Deps{Nodes: c, Informer: c, Instances: gateway.Instances(), Events: c},
			node.Config{Reads: 16, Refreshers: 4, Refresh: 5 * time.Minute, Claim: claim}).Run,
		nodelifecycle.New(nodelifecycle.Deps{Nodes: c, Informer: c, Instances: gateway.Instances(), Events: c},
			nodelifecycle.Config{Reads: 16, Limits: nodelifecycle.DefaultLimits(), Claim: claim}).Run,
		func(ctx context.Context) error { c.informer.RunWithContext(ctx); return nil },
	} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
		gateway.AwaitChanges()
	}
}

// costs counts checks of Nodes (looks), calls, writes and events.
type costs struct{ looks, calls, writes, events int64 }

// cost calls f, waits for the given time, and returns the costs since the call of f.
func (c *cluster) cost(f func(), after time.Duration) costs {
	c.looked.Store(0)
	c.calls.Store(0)
	c.told.Store(0)
	c.mu.Lock()
	c.writes = 0
	c.mu.Unlock()
	f()
	time.Sleep(after)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return costs{c.looked.Load(), c.calls.Load(), int64(c.writes), c.told.Load()}
}

// phases lists the phases in the life of a cluster, in their order.
var phases = []string{"initialisation", "heartbeats", "refresh", "failure", "deletions"}

// live takes a cluster of this size through all phases, and returns the costs of each
// phase.
func live(t *testing.T, size int) map[string]costs {
	t.Helper()
	c, spent := newCluster(size), map[string]costs{}
	stop := func() {}
	spent["initialisation"] = c.cost(func() { stop = c.start(t) }, 4*time.Minute)
	defer func() { stop() }()
	if waiting := c.count(func(n *corev1.Node) bool { return n.Spec.ProviderID == "" }); waiting > 0 {
		t.Fatalf("%d of %d Nodes are not initialised", waiting, size)
	}
	spent["heartbeats"] = c.cost(func() {
		for n := range size {
			c.change(nameOf(n), ready(corev1.ConditionTrue))
		}
	}, 0)
	spent["refresh"] = c.cost(func() {}, 10*time.Minute)
	spent["failure"] = c.cost(func() {
		for n := range size / 2 {
			c.gone.Store(nameOf(2*n), true)
			c.change(nameOf(2*n), ready(corev1.ConditionUnknown))
		}
	}, 9*time.Minute)
	spent["deletions"] = c.cost(func() {}, time.Hour)
	if left := c.count(func(*corev1.Node) bool { return true }); left != size-size/2 {
		t.Errorf("%d of %d Nodes are left, want half", left, size)
	}
	return spent
}

// The cost of a Node does not depend on the number of Nodes, even when half of them
// fail at once. The test counts checks of Nodes, calls, writes and events, because
// times would depend on the machine.
func TestCostOfEachNodeIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const few, many, most = 1000, 10000, 1.3
	var small, large map[string]costs
	synctest.Test(t, func(t *testing.T) { small = live(t, few) })
	synctest.Test(t, func(t *testing.T) { large = live(t, many) })
	for _, phase := range phases {
		s, l := small[phase], large[phase]
		for _, of := range []struct {
			what     string
			few, all int64
		}{{"looks", s.looks, l.looks}, {"calls", s.calls, l.calls}, {"writes", s.writes, l.writes}, {"events", s.events, l.events}} {
			than, each := float64(of.few)/few, float64(of.all)/many
			t.Logf("%s: %.2f %s for each of %d Nodes, %.2f for each of %d", phase, than, of.what, few, each, many)
			if each > most*than {
				t.Errorf("%s: %.2f %s for each of %d Nodes, and %.2f for each of %d", phase, each, of.what, many, than, few)
			}
		}
	}
}

package cloud

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

// With several processors, the race detector crashes in testing/synctest while calls wait
// for timers that end at once (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	testlog.Run(m)
}

// vendor is a provider that offers the parts in its fields. A nil field is not offered.
type vendor struct {
	cloudprovider.Interface // the other methods are not called

	v2       cloudprovider.InstancesV2
	v1       cloudprovider.Instances
	zones    cloudprovider.Zones
	balancer cloudprovider.LoadBalancer
	routes   cloudprovider.Routes
}

func (v vendor) Routes() (cloudprovider.Routes, bool) { return v.routes, v.routes != nil }

func (v vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return v.balancer, v.balancer != nil
}

func (v vendor) ProviderName() string                           { return "p" }
func (v vendor) InstancesV2() (cloudprovider.InstancesV2, bool) { return v.v2, v.v2 != nil }

func (v vendor) Instances() (cloudprovider.Instances, bool) { return v.v1, v.v1 != nil }

func (v vendor) Zones() (cloudprovider.Zones, bool)                                { return v.zones, v.zones != nil }
func (v vendor) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// metadata is an InstancesV2 that calls the function when it is asked for metadata.
type metadata func(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error)

func (m metadata) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return m(ctx, node)
}
func (metadata) InstanceExists(context.Context, *corev1.Node) (bool, error)   { return true, nil }
func (metadata) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// oldVendor is a provider with the older interfaces. It records all calls. A call fails
// if errs has an error for it.
type oldVendor struct {
	cloudprovider.Instances

	mu    sync.Mutex
	calls []string
	errs  map[string]error
	gone  bool // the answers are "does not exist" and "is shut down"
}

func (v *oldVendor) called(call string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, call)
	return v.errs[call]
}

func (v *oldVendor) InstanceID(context.Context, types.NodeName) (string, error) {
	return "i-1", v.called("InstanceID")
}

func (v *oldVendor) NodeAddresses(context.Context, types.NodeName) ([]corev1.NodeAddress, error) {
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "byname"}}, v.called("NodeAddresses")
}

func (v *oldVendor) NodeAddressesByProviderID(_ context.Context, id string) ([]corev1.NodeAddress, error) {
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: id}}, v.called("NodeAddressesByProviderID")
}

func (v *oldVendor) InstanceType(context.Context, types.NodeName) (string, error) {
	return "byname", v.called("InstanceType")
}

func (v *oldVendor) InstanceTypeByProviderID(context.Context, string) (string, error) {
	return "small", v.called("InstanceTypeByProviderID")
}

func (v *oldVendor) GetZone(context.Context) (cloudprovider.Zone, error) {
	return cloudprovider.Zone{}, cloudprovider.NotImplemented
}

func (v *oldVendor) GetZoneByProviderID(context.Context, string) (cloudprovider.Zone, error) {
	return cloudprovider.Zone{FailureDomain: "z1", Region: "r1"}, v.called("GetZoneByProviderID")
}

func (v *oldVendor) GetZoneByNodeName(context.Context, types.NodeName) (cloudprovider.Zone, error) {
	return cloudprovider.Zone{FailureDomain: "byname", Region: "r1"}, v.called("GetZoneByNodeName")
}

func gateway(t *testing.T, p cloudprovider.Interface, cfg Config) *Gateway {
	t.Helper()
	g, err := wrap(p).Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
}

func wrap(p cloudprovider.Interface) *Provider {
	return &Provider{theirs: p, extras: extrasOf(p), hidden: hiddenExtras(p)}
}

// quota is a cloud with a token bucket.
type quota struct {
	mu        sync.Mutex
	rate      float64
	burst     float64
	tokens    float64
	last      time.Time
	allowed   int
	throttled int
}

func (q *quota) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.tokens = min(q.tokens+now.Sub(q.last).Seconds()*q.rate, q.burst)
	q.last = now
	if q.tokens < 1 {
		q.throttled++
		return false
	}
	q.tokens--
	q.allowed++
	return true
}

// throttle lets the limiter believe that the quota of this method is used up, and that the
// cloud has asked for a pause.
func throttle(g *Gateway, method string, pause time.Duration) {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	g.limiter.classOf(call{method: method}, time.Now()).rate.usedUp(time.Now(), time.Now(), pause, 400)
}

// limitOf returns the rate to which the calls of this method are limited; 0: no limit.
func limitOf(g *Gateway, method string) float64 {
	_, perSecond := g.limiter.rateOf(call{method: method})
	return perSecond
}

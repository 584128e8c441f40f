// Package simulated is the provider of the simulated cloud. It registers under
// the name "simulated".
//
// Without a configuration file, the provider starts a simulated cloud inside the
// daemon. That cloud listens on a free loopback port, which is logged. With a
// configuration file, the provider is a client of a cloud in another process:
//
//	endpoint: http://127.0.0.1:7640
//	pageSize: 100 # optional: items in one call, at most the page size of the cloud
//	routeAddresses: true # optional: store the addresses of Nodes with their routes
//	maxBackends: 25 # optional: what provider.BackendLimit declares
//	withoutBatches: true # optional: do not offer provider.InstanceMetadataBatcher
//	withoutLists: true   # optional: do not offer provider.InstanceLister and provider.InstanceWatcher
//	withoutTerminations: true # optional: provider.Terminations returns NotImplemented
//	withoutBackendSetter: true # optional: do not offer provider.BackendSetter
//	withoutRouteApplier: true # optional: do not offer provider.RouteApplier
//	withoutConcurrentCalls: true # optional: do not offer provider.ConcurrentCaller and provider.ConcurrentLoadBalancer
//
// The file may change while the daemon runs. A valid configuration is used from the
// next call on. The interfaces that the provider offers stay the same until the
// daemon starts again. If the new file switches off other interfaces than the old
// one, a log line says so.
//
// Each Service of type LoadBalancer gets its own load balancer, for TCP and UDP over
// IPv4. The tags TagCluster and TagServiceUID of the load balancer identify its
// Service. So two clusters in one account never change each other's load balancers.
// A Service never changes the load balancer of an earlier Service with the same
// name. Annotations of the Service configure the load balancer.
//
// A route leads to the instance that has the name of the route's Node. One
// table can contain routes of several clusters and routes made by hand.
// TagCluster says to which cluster a route belongs.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Name is the provider's name, and the scheme of its provider IDs.
const Name = "simulated"

func init() {
	cloudprovider.RegisterCloudProvider(Name, func(config io.Reader) (cloudprovider.Interface, error) {
		return New(config)
	})
}

// Cloud is the provider.
type Cloud struct {
	// without lists the optional interfaces that this provider does not offer. It
	// comes from the first configuration, because the daemon asks a provider only
	// once for its interfaces.
	without optional

	mu  sync.Mutex
	now connection // guarded by mu
}

// connection says how the next calls are made. It is never changed, only
// replaced.
type connection struct {
	config config
	client *simulator.Client // nil until there is a cloud
	err    error             // why there is no cloud
}

var (
	_ cloudprovider.Interface = (*Cloud)(nil)
	_ provider.Reloader       = (*Cloud)(nil)
)

// New returns a provider. If config is nil, Initialize will start a cloud inside
// this process. New returns an error if config is invalid.
func New(config io.Reader) (*Cloud, error) {
	c := &Cloud{}
	c.now = connection{err: errors.New("the simulated cloud inside this process is not started yet")}
	if err := c.connect(config); err != nil {
		return nil, err
	}
	c.without = c.now.config.optional
	return c, nil
}

// Reload implements provider.Reloader. The interfaces that the provider offers
// stay the same.
func (c *Cloud) Reload(ctx context.Context, config io.Reader) error {
	if err := c.connect(config); err != nil {
		return err
	}
	if wanted := c.connection().config.optional; wanted != c.without {
		klog.FromContext(ctx).Info("What the configuration says about optional interfaces takes effect at the next start", "switchedOff", c.without, "switchedOffThen", wanted)
	}
	return nil
}

// connect makes later calls use the configuration. If config is nil, it changes
// nothing.
func (c *Cloud) connect(config io.Reader) error {
	if config == nil {
		return nil
	}
	parsed, err := parseConfig(config)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = connection{config: parsed, client: simulator.NewClient(string(parsed.Endpoint)).WithPageSize(parsed.PageSize)}
	return nil
}

// Initialize implements cloudprovider.Interface.
func (c *Cloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.client == nil {
		c.now.client, c.now.err = startLocal(wait.ContextForChannel(stop))
	}
}

// startLocal starts a cloud in this process. The cloud stops when the
// context ends.
func startLocal(ctx context.Context) (*simulator.Client, error) {
	logger := klog.FromContext(ctx)
	cloud, err := simulator.New(simulator.Config{Traffic: true})
	if err != nil {
		return nil, fmt.Errorf("simulated cloud inside this process: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("simulated cloud inside this process: %w", err)
	}
	url := "http://" + listener.Addr().String()
	logger.Info("Simulated cloud started in this process", "url", url, "try", "simcloud list --server "+url)
	go func() {
		if err := cloud.Serve(ctx, listener); err != nil {
			logger.Error(err, "Simulated cloud ended")
		}
	}()
	return simulator.NewClient(url), nil
}

// connection returns the settings for the next call.
func (c *Cloud) connection() connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// ask makes one call to the cloud.
func ask[T any](ctx context.Context, c *Cloud, call func(context.Context, *simulator.Client) (T, error)) (T, error) {
	now := c.connection()
	if now.err != nil {
		var none T
		return none, now.err
	}
	return call(ctx, now.client)
}

// ProviderName implements cloudprovider.Interface.
func (c *Cloud) ProviderName() string { return Name }

// HasClusterID implements cloudprovider.Interface. It always returns true, because
// load balancers and routes carry the name of their cluster.
func (c *Cloud) HasClusterID() bool { return true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return (&instances{cloud: c}).offering(c.without), true
}

// Instances implements cloudprovider.Interface. InstancesV2 replaces it.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface. InstancesV2 replaces it.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return (&loadBalancers{cloud: c, most: c.connection().config.MaxBackends}).offering(c.without), true
}

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) {
	r := &routes{cloud: c}
	if c.without.RouteApplier {
		return struct{ routesAlone }{r}, true
	}
	return r, true
}

// routesAlone is embedded in a value to give it only the methods of cloudprovider.Routes.
// The daemon logs the optional interfaces that a wrapper hides. For this value it logs
// nothing, because the name of the embedded field is not exported.
type routesAlone = cloudprovider.Routes

// Clusters implements cloudprovider.Interface. Nothing calls it.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

var _ provider.ErrorClassifier = (*Cloud)(nil)

// ClassifyError implements provider.ErrorClassifier.
func (c *Cloud) ClassifyError(err error) provider.Classification {
	var refused *kit.InvalidError
	var answered *simulator.APIError
	var transport *url.Error
	switch {
	case errors.As(err, &refused):
		return provider.Classification{Kind: provider.Invalid}
	case errors.As(err, &answered):
		if answered.Code == simulator.CodeQuotaExceeded {
			return provider.Classification{Kind: provider.QuotaExceeded}
		}
		return provider.Classification{Kind: kindOf(answered.StatusCode), RetryAfter: answered.RetryAfter}
	case errors.Is(err, context.Canceled):
		return provider.Classification{} // the caller canceled the call, so the cloud may be healthy
	case errors.As(err, &transport), errors.Is(err, context.DeadlineExceeded):
		return provider.Classification{Kind: provider.Unavailable}
	}
	return provider.Classification{}
}

func kindOf(status int) provider.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return provider.Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.Denied
	case status == http.StatusBadRequest, status == http.StatusConflict:
		return provider.Invalid
	case status >= http.StatusInternalServerError:
		return provider.Unavailable
	}
	return provider.Unclassified
}

// VolumeDriver is the value of spec.csi.driver in PersistentVolumes of this cloud.
// The volume handle is the ID of the volume. This driver does not exist: a pod
// with the volume is scheduled, but cannot start.
const VolumeDriver = Name + ".fairlead.dev"

var _ cloudprovider.PVLabeler = (*Cloud)(nil)

// GetLabelsForVolume implements cloudprovider.PVLabeler. It returns nil for volumes
// of other drivers.
func (c *Cloud) GetLabelsForVolume(ctx context.Context, pv *corev1.PersistentVolume) (map[string]string, error) {
	csi := pv.Spec.CSI
	if csi == nil || csi.Driver != VolumeDriver {
		return nil, nil
	}
	if csi.VolumeHandle == "" {
		return nil, kit.Invalidf("spec.csi.volumeHandle: is empty; it should be the ID of the volume, such as vol-00000001")
	}
	found, err := ask(ctx, c, func(ctx context.Context, client *simulator.Client) (simulator.Volume, error) {
		return client.Volume(ctx, csi.VolumeHandle)
	})
	if err != nil {
		return nil, fmt.Errorf("volume %s: %w", csi.VolumeHandle, err)
	}
	return map[string]string{
		corev1.LabelTopologyZone:   strings.Join(found.Zones, "__"),
		corev1.LabelTopologyRegion: found.Region,
	}, nil
}

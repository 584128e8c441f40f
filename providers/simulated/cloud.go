package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

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
	config config
	routes routeCalls

	mu     sync.Mutex
	client *simulator.Client // guarded by mu; nil until there is a cloud
	err    error             // guarded by mu; why there is none
}

var _ cloudprovider.Interface = (*Cloud)(nil)

// New returns a provider. If config is nil, the cloud will live inside this
// process and be started by Initialize.
func New(config io.Reader) (*Cloud, error) {
	c := &Cloud{err: errors.New("the simulated cloud inside this process is not started yet")}
	if config != nil {
		parsed, err := parseConfig(config)
		if err != nil {
			return nil, err
		}
		c.config = parsed
		c.client, c.err = simulator.NewClient(parsed.endpoint).WithPageSize(parsed.pageSize), nil
	}
	c.routes = newRouteCalls(c)
	return c, nil
}

// Initialize implements cloudprovider.Interface.
func (c *Cloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		c.client, c.err = startLocal(wait.ContextForChannel(stop))
	}
}

// startLocal starts a cloud in this process, which ends with the context.
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
	logger.Info("The simulated cloud lives inside this process", "url", url, "lookInside", "simcloud list --server "+url)
	go func() {
		if err := cloud.Serve(ctx, listener); err != nil {
			logger.Error(err, "The simulated cloud has ended")
		}
	}()
	return simulator.NewClient(url), nil
}

// api is the client of the cloud, once there is one.
func (c *Cloud) api() (*simulator.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client, c.err
}

// ask makes one call of the cloud.
func ask[T any](ctx context.Context, c *Cloud, call func(context.Context, *simulator.Client) (T, error)) (T, error) {
	client, err := c.api()
	if err != nil {
		var none T
		return none, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return call(ctx, client)
}

// limited is the context of one call.
func (c *Cloud) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.config.timeout == 0 {
		return context.WithCancel(ctx)
	}
	cause := fmt.Errorf("no answer within the configured timeout of %v: %w", c.config.timeout, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, c.config.timeout, cause)
}

// ProviderName implements cloudprovider.Interface.
func (c *Cloud) ProviderName() string { return Name }

// HasClusterID implements cloudprovider.Interface. A simulated cloud belongs to
// one cluster.
func (c *Cloud) HasClusterID() bool { return true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return &instances{cloud: c}, true }

// Instances implements cloudprovider.Interface: InstancesV2 replaces it.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface: InstancesV2 replaces it.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return &loadBalancers{cloud: c}, true
}

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return &routes{cloud: c}, true }

// Clusters implements cloudprovider.Interface. Nothing calls it.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// brokenProvider is the provider of a brokenCloud.
type brokenProvider struct {
	cloud         *brokenCloud
	start         int // 1 for the first provider of the cloud
	cache         *cache
	targets       *cache // of routes, for the flaw routes/knows-one
	loadBalancers *loadBalancers
}

var _ cloudprovider.Interface = (*brokenProvider)(nil)

// Provider returns a new provider, as after a restart of the daemon.
func (c *brokenCloud) Provider(ctx context.Context) (cloudprovider.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	balancers := &loadBalancers{cloud: c, number: c.starts, answers: map[types.UID]int{}, slots: map[types.UID]bool{}}
	return &brokenProvider{cloud: c, start: c.starts, cache: &cache{}, targets: &cache{}, loadBalancers: balancers}, nil
}

func (p *brokenProvider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (p *brokenProvider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return instances{p.cloud, p.start, p.cache}, true
}

func (p *brokenProvider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return p.loadBalancers, true
}

func (p *brokenProvider) Routes() (cloudprovider.Routes, bool) {
	return &routes{p.cloud, p.targets}, true
}

func (p *brokenProvider) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (p *brokenProvider) Zones() (cloudprovider.Zones, bool) {
	if p.cloud.has("cost/accessors") {
		return (*zones)(nil), true
	}
	return nil, false
}

type zones struct{ cloudprovider.Zones }

func (p *brokenProvider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (p *brokenProvider) ProviderName() string { return scheme }

func (p *brokenProvider) HasClusterID() bool { return true }

// brokenToken is the secret of the provider's configuration.
const brokenToken = "t0ken-of-the-account"

// Configured returns a provider with the configuration. Each line of the text has a
// key and a value.
func (c *brokenCloud) Configured(ctx context.Context, text string) (cloudprovider.Interface, error) {
	var problems []error
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if err := c.configure(key, value); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 1 && c.has("process/config") {
		problems = problems[:1]
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return c.Provider(ctx)
}

func (c *brokenCloud) configure(key, value string) error {
	switch {
	case key == "token" && value != brokenToken:
		if c.has("process/bad-credentials") {
			os.Exit(3) // this is the flaw
		}
		return errors.New("the cloud refuses the token")
	case key == "token":
		if c.has("process/no-secrets") {
			fmt.Fprintln(os.Stderr, "connecting with token "+value)
		}
	case key != "region":
		return fmt.Errorf("unknown key %s", key)
	case value == "nowhere":
		return fmt.Errorf("region: there is no %s", value)
	}
	return nil
}

// begin starts the background work of the provider. Some providers can do this only
// once in a process, and panic the second time. With the flaw
// process/twice-in-one-process, begin panics, too.
func (c *brokenCloud) begin(ctx context.Context) error {
	if c.starts > 1 && c.has("process/twice-in-one-process") {
		panic("duplicate metrics collector registration attempted")
	}
	switch c.habit { //nolint:exhaustive // only these two are about the start
	case once:
		http.Handle("/broken", http.NotFoundHandler()) // panics the second time
	case exits:
		time.AfterFunc(conformance.Settling/4, func() {
			defer func() {
				if recover() != nil {
					os.Exit(3)
				}
			}()
			http.Handle("/broken", http.NotFoundHandler())
		})
	}
	if c.has("process/stop") {
		ctx = context.WithoutCancel(ctx)
	}
	go func() { <-ctx.Done() }()
	if !c.has("process/no-listener") {
		return nil
	}
	var err error
	for port := 18080; port < 18180; port++ { // another test may use some of these ports
		var config net.ListenConfig
		var listener net.Listener
		if listener, err = config.Listen(ctx, "tcp", fmt.Sprintf(":%d", port)); err == nil {
			context.AfterFunc(ctx, func() { _ = listener.Close() }) // This also keeps the garbage collector from closing the listener.
			return nil
		}
	}
	return err
}

package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/api"
	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/forward"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
)

// Cloud is a simulated cloud. It is an http.Handler.
type Cloud struct {
	api       *api.Server
	forwarder *forward.Forwarder
}

// New returns a cloud with the resources of its state file. It returns an error
// if the configuration or the state file is invalid.
func New(config Config) (*Cloud, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.PageSize == 0 {
		config.PageSize = DefaultPageSize
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	set, err := config.faults()
	if err != nil {
		return nil, err
	}
	claims := &forward.Claims{}
	store, err := config.store(claims)
	if err != nil {
		return nil, err
	}
	forwarder := forward.New(forward.Config{
		Clock:   config.Clock,
		Store:   store,
		Claims:  claims,
		Enabled: config.Traffic,
		Checks:  config.Checks,
		Drain:   config.Drain,
	})
	server := api.New(api.Config{
		Clock:     config.Clock,
		PageSize:  config.PageSize,
		Limits:    config.limits(),
		Store:     store,
		Faults:    set,
		Forwarder: forwarder,

		AllowedHosts: config.AllowedHosts,
		Cluster:      config.Cluster,
	})
	return &Cloud{api: server, forwarder: forwarder}, nil
}

// faults returns a set with the faults of config.Standing.
func (config Config) faults() (*faults.Set, error) {
	set := faults.New(config.Seed)
	for _, f := range config.Standing {
		if err := set.SetStanding(f, config.Clock.Now()); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return set, nil
}

func (config Config) limits() state.Limits {
	return state.Limits{
		LoadBalancers: config.MaxLoadBalancers,
		Backends:      config.MaxBackends,
		Routes:        config.MaxRoutes,
		UniqueRoutes:  config.UniqueRoutes,
	}
}

// store returns a store with the resources of the state file.
func (config Config) store(claims *forward.Claims) (*state.Store, error) {
	return state.New(state.Config{
		Clock: config.Clock,
		Delays: state.Delays{
			Transition:   config.Transition,
			Terminated:   config.TerminatedFor,
			Provisioning: config.Provisioning,
		},
		Limits:    config.limits(),
		File:      config.StateFile,
		IsForeign: claims.IsForeign,
	})
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.api.ServeHTTP(w, r) }

// DefaultPageSize is the maximum number of items on a page, unless
// Config.PageSize says otherwise.
const DefaultPageSize = 100

// Config configures a cloud. The zero value is a cloud without delays, quotas
// and faults.
type Config struct {
	// Clock is the clock of the cloud; nil means the real one.
	Clock clock.Clock
	// Seed is the seed of all random numbers. With the same seed, the same calls
	// in the same order meet the same faults.
	Seed uint64
	// StateFile is the path of the file that keeps the resources across restarts.
	// If it is empty, they are kept in memory only.
	StateFile string
	// PageSize is the default and the maximum size of a page; 0 means
	// DefaultPageSize.
	PageSize int
	// Transition is how long an instance is pending or stopping.
	Transition time.Duration
	// TerminatedFor is how long a terminated instance is still listed.
	TerminatedFor time.Duration
	// Provisioning is how long a load balancer is pending.
	Provisioning time.Duration
	// MaxLoadBalancers is the maximum number of load balancers in the account.
	// MaxBackends is the maximum number of backends of each load balancer. 0 means
	// no limit.
	MaxLoadBalancers int
	MaxBackends      int
	// MaxRoutes is the maximum number of routes in the table; 0 means no limit.
	MaxRoutes int
	// UniqueRoutes allows only one route for each destination. If it is false, a
	// destination can have several routes. Real clouds differ in this.
	UniqueRoutes bool
	// Drain is the drain time of load balancers that do not set their own.
	Drain time.Duration
	// Traffic makes Serve carry traffic: active load balancers listen at their
	// addresses and forward to their backends. Without Traffic, no socket is
	// opened.
	Traffic bool
	// Checks says how the health of backends is checked.
	Checks Checks
	// AllowedHosts are additional host names, in lower case, that requests may use.
	// IP addresses and localhost are always allowed. A request with any other host
	// name is refused, because a website can point its own name at this machine.
	AllowedHosts []string
	// Cluster returns a description of a cluster that uses this cloud. The cloud's page
	// shows it. The description is a JSON object, which the cloud passes on to the page
	// without reading it. If the cluster cannot be described, the error says why. If
	// Cluster is nil, the page shows only the cloud.
	Cluster func(context.Context) (json.RawMessage, error)
	// Standing lists the permanent faults of this cloud, such as its request
	// quota. Client.Faults does not return them, and they cannot be cleared.
	Standing []Fault
}

// Checks says how the health of backends is checked. A field that is 0 gets a
// default.
type Checks = traffic.Checks

func (config Config) check() error {
	switch {
	case config.PageSize < 0:
		return fmt.Errorf("page size %d is negative", config.PageSize)
	case config.Transition < 0 || config.TerminatedFor < 0:
		return errors.New("the delays of instances must not be negative")
	case config.Provisioning < 0 || config.Drain < 0:
		return errors.New("the delays of load balancers must not be negative")
	case config.MaxLoadBalancers < 0 || config.MaxBackends < 0 || config.MaxRoutes < 0:
		return errors.New("a quota must not be negative; 0 means no limit")
	}
	for _, name := range config.AllowedHosts {
		if name == "" || strings.ContainsAny(name, " :/") || name != strings.ToLower(name) {
			return fmt.Errorf("allowed host %q must be a name in lower case without a port", name)
		}
	}
	return config.Checks.Check()
}

const (
	serverIdleTimeout = 3 * time.Minute
	// shutdownGrace is the longest time that the server waits for open requests when it
	// stops.
	shutdownGrace = 5 * time.Second
)

// Serve serves the cloud on the listener until the context ends. Then it closes the
// listener. Calls that a fault still delays (latency, hang) end without an answer. With
// Config.Traffic, Serve also carries the load balancers' traffic.
func (c *Cloud) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           c,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       serverIdleTimeout,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer c.forwarder.Start(ctx)()
	defer cancel()
	stopped := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-done:
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		stopped <- server.Shutdown(grace)
	}()
	err := server.Serve(listener)
	close(done)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped)
}

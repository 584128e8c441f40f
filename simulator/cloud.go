package simulator

import (
	"fmt"
	"net/http"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/api"
	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/forward"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
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

package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
)

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

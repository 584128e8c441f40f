package simulator

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
)

// DefaultPageSize is how many items a page of a list has at most.
const DefaultPageSize = 100

// Config is how a cloud behaves; the zero value is a cloud without any trouble.
type Config struct {
	// Clock is the real one if nil.
	Clock clock.Clock
	// Seed makes all that is random the same again: the same calls in the same
	// order meet the same faults.
	Seed uint64
	// StateFile keeps the resources across restarts; empty keeps them in memory.
	StateFile string
	// PageSize is the default and the maximum size of a page; 0 means
	// DefaultPageSize.
	PageSize int
	// Transition is how long an instance is pending and stopping.
	Transition time.Duration
	// TerminatedFor is how long a terminated instance is still listed.
	TerminatedFor time.Duration
	// Provisioning is how long a load balancer is pending.
	Provisioning time.Duration
	// MaxLoadBalancers is how many load balancers the account may have, and
	// MaxBackends how many backends each of them; 0 means no limit.
	MaxLoadBalancers int
	MaxBackends      int
	// MaxRoutes is how many routes the table may have; 0 means no limit.
	MaxRoutes int
	// UniqueRoutes allows one route for each destination. Clouds differ in this;
	// without it there may be several.
	UniqueRoutes bool
	// Drain is the drain time of load balancers that leave it to the cloud.
	Drain time.Duration
	// Traffic makes Serve carry traffic: active load balancers listen at their
	// addresses and forward to their backends. Without it no socket is opened.
	Traffic bool
	// Checks is how the health of backends is checked.
	Checks Checks
	// Standing are faults that belong to this cloud, such as its quota. They are
	// not listed and cannot be cleared.
	Standing []Fault
}

// Checks is how the health of backends is checked. What is 0 gets a default.
type Checks = traffic.Checks

func (config Config) check() error {
	switch {
	case config.PageSize < 0:
		return fmt.Errorf("page size %d must be positive", config.PageSize)
	case config.Transition < 0 || config.TerminatedFor < 0:
		return errors.New("an instance cannot change in the past: durations must not be negative")
	case config.Provisioning < 0 || config.Drain < 0:
		return errors.New("a load balancer cannot change in the past: durations must not be negative")
	case config.MaxLoadBalancers < 0 || config.MaxBackends < 0 || config.MaxRoutes < 0:
		return errors.New("a quota must not be negative; 0 means no limit")
	}
	return config.Checks.Check()
}

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// servicesWithin is the timeout for a change of all Services.
const servicesWithin = 15 * time.Minute

// services returns the scenarios about Services of type LoadBalancer.
func services() []Scenario {
	return slices.Concat(
		[]Scenario{servicesCreate}, withPlain(servicesJoinOne), withPlain(servicesJoinMany), []Scenario{servicesRestart, servicesDelete})
}

var (
	servicesCreate = ofServices("services-create", "%d Services of type LoadBalancer are created at once, in a cluster of %d Nodes.",
		func(ctx context.Context, t *trial) error {
			if err := t.begin(ctx); err != nil {
				return err
			}
			if err := t.plane.Expose(ctx, t.Services); err != nil {
				return err
			}
			return t.wholeness(ctx, report.AllExposed, t.Nodes)
		}).quiet()
	servicesJoinOne = ofServices("services-join-one", "%d Services have load balancers, and one Node joins the %d.",
		func(ctx context.Context, t *trial) error { return t.grow(ctx, 1) }).quiet()
	servicesJoinMany = ofServices("services-join-many", "%d Services have load balancers, and 40 %% more Nodes join the %d.",
		func(ctx context.Context, t *trial) error { return t.grow(ctx, t.percent(40)) }).few()
	servicesRestart = ofServices("services-restart", "%d Services have load balancers in a cluster of %d Nodes, and the daemon is replaced.",
		func(ctx context.Context, t *trial) error {
			if err := t.exposed(ctx); err != nil {
				return err
			}
			if err := t.daemons[0].End(syscall.SIGTERM); err != nil {
				return err
			}
			if err := t.begin(ctx); err != nil {
				return err
			}
			if err := t.lead(ctx, t.even()); err != nil {
				return err
			}
			return t.rest(ctx)
		}).few()
	servicesDelete = ofServices("services-delete", "%d Services that have load balancers are deleted at once, in a cluster of %d Nodes.",
		func(ctx context.Context, t *trial) error {
			if err := t.exposed(ctx); err != nil {
				return err
			}
			if err := t.begin(ctx); err != nil {
				return err
			}
			if err := t.plane.Unexpose(ctx); err != nil {
				return err
			}
			err := t.poll(ctx, servicesWithin, func() error { return t.unexposed(ctx) })
			if err := t.took(err, report.AllGone, t.clock.Since(t.began.at)); err != nil {
				return err
			}
			return t.rest(ctx)
		}).few()
)

// quiet returns the scenario with its field Quiet set to Fairlead.
func (s Scenario) quiet() Scenario {
	s.Quiet = []contender.Name{contender.Fairlead}
	return s
}

// few returns the scenario with at most 100 Services. They are enough to see the
// effect of the scenario.
func (s Scenario) few() Scenario {
	size := s.Size
	s.Size = func(settings Settings) Settings {
		settings = size(settings)
		settings.Services = min(settings.Services, 100)
		return settings
	}
	return s
}

// ofServices returns a scenario that begins when the daemon holds the lease and has done
// its work at startup. The argument what is a format string for the number of Services
// and the number of Nodes.
func ofServices(name, what string, run func(context.Context, *trial) error) Scenario {
	return Scenario{
		Name:     name,
		What:     func(s Settings) string { return fmt.Sprintf(what, s.Services, s.Nodes) },
		Provider: contender.Simulated,
		Flags:    noFlags,
		Size:     atMost(500),
		run: func(ctx context.Context, t *trial) error {
			if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
				return err
			}
			if err := t.lead(ctx, t.even()); err != nil {
				return err
			}
			return run(ctx, t)
		},
	}
}

// exposed creates the Services and waits until they have load balancers and the daemon
// is quiet.
func (t *trial) exposed(ctx context.Context) error {
	if err := t.plane.Expose(ctx, t.Services); err != nil {
		return err
	}
	if err := t.poll(ctx, servicesWithin, func() error { return t.whole(ctx, t.Nodes) }); err != nil {
		return err
	}
	t.began.at = t.clock.Now()
	return t.calm(ctx)
}

// grow creates the Services, and then lets Nodes join. These Nodes are already
// initialised, because only the updates of load balancers are measured.
func (t *trial) grow(ctx context.Context, by int) error {
	if err := t.exposed(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if _, err := t.join(ctx, by, cluster.Initialized); err != nil {
		return err
	}
	return t.wholeness(ctx, report.AllBackends, t.Nodes+by)
}

// wholeness waits until each Service has its load balancer and all Nodes are
// behind it. Then it waits until the daemon is quiet.
func (t *trial) wholeness(ctx context.Context, what string, nodes int) error {
	err := t.poll(ctx, servicesWithin, func() error { return t.whole(ctx, nodes) })
	if err := t.took(err, what, t.clock.Since(t.began.at)); err != nil {
		return err
	}
	return t.rest(ctx)
}

// rest waits until the daemon is quiet, and ends the measurement.
func (t *trial) rest(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	return t.end(ctx)
}

// whole returns nil if each Service has an address, the cloud has one load balancer
// for each Service, and each load balancer has this many Nodes.
func (t *trial) whole(ctx context.Context, nodes int) error {
	balancers, err := t.cloud.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	for _, b := range balancers {
		if len(b.Backends) != nodes {
			return fmt.Errorf("load balancer %s has %d of %d Nodes", b.ID, len(b.Backends), nodes)
		}
	}
	if len(balancers) != t.Services {
		return fmt.Errorf("%d load balancers for %d Services", len(balancers), t.Services)
	}
	services, err := t.plane.Exposed(ctx)
	if err != nil {
		return err
	}
	waiting := 0
	for _, s := range services {
		if len(s.Status.LoadBalancer.Ingress) == 0 {
			waiting++
		}
	}
	if waiting > 0 || len(services) != t.Services {
		return fmt.Errorf("%d of %d Services have no address", waiting, len(services))
	}
	return nil
}

// unexposed returns nil if all Services of type LoadBalancer and all load balancers
// are gone.
func (t *trial) unexposed(ctx context.Context) error {
	services, err := t.plane.Exposed(ctx)
	if err != nil || len(services) > 0 {
		return errors.Join(err, fmt.Errorf("%d Services are left", len(services)))
	}
	balancers, err := t.cloud.LoadBalancers(ctx)
	if err != nil || len(balancers) > 0 {
		return errors.Join(err, fmt.Errorf("%d load balancers are left behind", len(balancers)))
	}
	return nil
}

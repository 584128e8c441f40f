package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// calm is the time between the last change and the outage. With fast paths, the daemon
// makes few calls in this time. So the daemon is idle when the outage begins.
const calm = 5 * time.Second

var outage = Scenario{
	Name: "outage",
	What: func(s Settings) string {
		return fmt.Sprintf("%v after the last change the cloud answers 503 for %v, while %d of %d kubelets are silent, %d new Nodes join and %d Services change.",
			calm, s.OutageFor, s.percent(10), s.Nodes, s.percent(1), s.touched())
	},
	Provider: contender.Simulated,
	Flags:    ownFlags(noYouth),
	run: func(ctx context.Context, t *trial) error {
		instances, err := t.fleet(ctx, cluster.Initialized)
		if err != nil {
			return err
		}
		t.Services = t.touched() // All these Services change.
		if err := t.lead(ctx, t.even()); err != nil {
			return err
		}
		if err := t.exposed(ctx); err != nil {
			return err
		}
		if err := t.wait(ctx, calm); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		if err := t.cloud.SetFault(ctx, simulator.Fault{Name: "outage", Kind: simulator.FaultOutage}); err != nil {
			return err
		}
		if err := t.silence(ctx, spread(instances, t.percent(10))); err != nil {
			return err
		}
		if _, err := t.join(ctx, t.percent(1), uninitialized); err != nil {
			return err
		}
		if err := t.plane.MovePorts(ctx); err != nil {
			return err
		}
		if err := t.wait(ctx, t.OutageFor-t.clock.Since(t.began.at)); err != nil {
			return err
		}
		calls, err := t.cloud.Calls(ctx)
		if err != nil {
			return err
		}
		t.note(report.Number(report.OutageCalls, int(calls.Count()), 0))
		return t.recover(ctx)
	},
}

// touched returns the number of Services that change during an outage.
func (s Settings) touched() int { return min(s.Services, 100) }

// recover ends the outage, and then waits until all delayed work is done.
func (t *trial) recover(ctx context.Context) error {
	const (
		within = 5 * time.Minute
		after  = 15 * time.Second // time in which a contender could still react wrongly
	)
	if err := t.cloud.ClearFault(ctx, "outage"); err != nil {
		return err
	}
	recovered := t.clock.Now()
	err := t.nodes.Await(ctx, within, allInitialized)
	if err := t.took(err, "all initialised after the recovery", t.clock.Since(recovered)); err != nil {
		return err
	}
	err = t.poll(ctx, within, func() error {
		balancers, err := t.cloud.LoadBalancers(ctx)
		if err != nil {
			return err
		}
		return moved(balancers)
	})
	if err := t.took(err, report.OutageOver, t.clock.Since(recovered)); err != nil {
		return err
	}
	if err := t.wait(ctx, after); err != nil {
		return err
	}
	return t.end(ctx)
}

// moved returns nil if every load balancer has the new port of its Service.
func moved(balancers []simulator.LoadBalancer) error {
	stale := 0
	for _, b := range balancers {
		if !slices.ContainsFunc(b.Listeners, func(l simulator.Listener) bool { return l.Port == cluster.MovedPort }) {
			stale++
		}
	}
	if stale > 0 {
		return fmt.Errorf("%d of %d load balancers have the old port", stale, len(balancers))
	}
	return nil
}

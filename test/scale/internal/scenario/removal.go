package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// noYouth makes Fairlead treat the new Nodes of a benchmark like older Nodes. By default,
// Fairlead protects new Nodes for longer.
const noYouth = "--node-deletion-young-age=0s"

var removal = Scenario{
	Name: "removal",
	What: func(s Settings) string {
		return fmt.Sprintf("%d of %d instances are terminated, and the kubelets on them fall silent.", s.percent(5), s.Nodes)
	},
	Provider: contender.Simulated,
	Size:     atMost(500),
	Flags:    ownFlags(noYouth),
	run: func(ctx context.Context, t *trial) error {
		const within = 5 * time.Minute
		return t.terminate(ctx, t.percent(5), within)
	},
}

var massRemoval = Scenario{
	Name: "mass-removal",
	What: func(s Settings) string {
		return fmt.Sprintf("%d of %d instances are terminated at once, and the kubelets on them fall silent.", s.percent(60), s.Nodes)
	},
	Provider: contender.Simulated,
	Size:     atMost(500),
	Flags:    ownFlags(noYouth, "--node-deletion-over-budget-after=30s"),
	run:      func(ctx context.Context, t *trial) error { return t.terminate(ctx, t.percent(60), t.MassLimit) },
}

// terminate measures the time until the Nodes of terminated instances are gone.
func (t *trial) terminate(ctx context.Context, size int, within time.Duration) error {
	instances, err := t.fleet(ctx, cluster.Initialized)
	if err != nil {
		return err
	}
	if err := t.lead(ctx, t.even()); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	victims := spread(instances, size)
	if err := cluster.Each(size, func(n int) error { return t.cloud.TerminateInstance(ctx, victims[n].ID) }); err != nil {
		return err
	}
	if err := t.silence(ctx, victims); err != nil {
		return err
	}
	t.progress("%d instances are terminated, their kubelets silent", size)
	if err := t.until(ctx, report.NodesGone, within, gone(victims)); err != nil {
		return err
	}
	if n := left(t, victims); n > 0 {
		t.note(report.Number(report.GoneByThen, size-n, size))
	} else if err := t.calm(ctx); err != nil {
		return err
	}
	return t.end(ctx)
}

// left returns the number of instances that still have a Node.
func left(t *trial, instances []simulator.Instance) int {
	nodes, n := t.nodes.All(), 0
	for _, i := range instances {
		if nodes[i.Name] != nil {
			n++
		}
	}
	return n
}

package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

var initialize = Scenario{
	Name: "init",
	What: func(s Settings) string {
		return fmt.Sprintf("%d uninitialised Nodes are there when the daemon starts.", s.Nodes)
	},
	Provider: contender.Simulated,
	Flags:    noFlags,
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, uninitialized); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		if _, err := t.replica(ctx); err != nil {
			return err
		}
		const each = time.Second / 3 // far more than anybody needs
		if err := t.until(ctx, "all initialised", time.Minute+time.Duration(t.Nodes)*each, allInitialized); err != nil {
			return err
		}
		if err := t.calm(ctx); err != nil {
			return err
		}
		return t.end(ctx)
	},
}

func allInitialized(nodes map[string]*corev1.Node) error {
	done := 0
	for _, node := range nodes {
		if cluster.IsInitialized(node) {
			done++
		}
	}
	if done < len(nodes) {
		return fmt.Errorf("%d of %d Nodes are initialised", done, len(nodes))
	}
	return nil
}

// refreshEvery makes both contenders refresh all Nodes twice while the cluster
// is idle; by default nothing would be seen of it in a minute.
func refreshEvery(s Settings) time.Duration { return s.IdleFor / 2 }

var idle = Scenario{
	Name: "idle",
	What: func(s Settings) string {
		return fmt.Sprintf("%d initialised Nodes, and nothing happens for %v.", s.Nodes, s.IdleFor)
	},
	Provider: contender.Simulated,
	Flags: sameFlags(func(s Settings) []string {
		return []string{"--node-status-update-frequency=" + refreshEvery(s).String()}
	}),
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
			return err
		}
		const page = 100 // of the cloud
		began := t.clock.Now()
		if err := t.lead(ctx, float64(t.Nodes)/page/refreshEvery(t.Settings).Seconds()); err != nil {
			return err
		}
		calls, err := t.cloud.Calls(ctx)
		if err != nil {
			return err
		}
		t.note(report.Number(fmt.Sprintf("cloud calls in the %.0f s after the start", t.clock.Since(began).Seconds()), int(calls.Count()), 0))
		if err := t.begin(ctx); err != nil {
			return err
		}
		if err := t.wait(ctx, t.IdleFor); err != nil {
			return err
		}
		return t.end(ctx)
	},
}

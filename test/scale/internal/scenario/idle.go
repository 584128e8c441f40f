package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

var idle = Scenario{
	Name: "idle",
	What: func(s Settings) string {
		return fmt.Sprintf("%d initialised Nodes, and nothing happens for %v.", s.Nodes, s.IdleFor)
	},
	Provider: contender.Simulated,
	Flags:    noFlags,
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
			return err
		}
		began := t.clock.Now()
		if err := t.lead(ctx, t.even()); err != nil {
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
		if err := t.end(ctx); err != nil {
			return err
		}
		t.note(report.Quantity(report.IdleCalls, float64(t.row.Calls())*60/t.row.Seconds, "a minute"))
		const few = 100 // With fewer calls, the unevenness has no meaning.
		if t.row.Calls() >= few {
			t.note(report.Quantity("largest 10 s", t.row.Series.Unevenness(), "times the mean"))
		}
		return nil
	},
}

// heartbeats returns the scenarios that measure the cost of the heartbeats of all
// kubelets. Each heartbeat is a write of the Node's status.
func heartbeats() []Scenario {
	return []Scenario{beating("heartbeats", 5*time.Minute), beating("heartbeats-10s", 10*time.Second)}
}

func beating(name string, every time.Duration) Scenario {
	return Scenario{
		Name: name,
		What: func(s Settings) string {
			return fmt.Sprintf("%d initialised Nodes whose kubelets write a heartbeat into the status every %v, as far as the API server keeps up. Nothing else happens for %v.",
				s.Nodes, every, s.heartbeatsFor())
		},
		Provider: contender.Simulated,
		Flags:    noFlags,
		Alone:    contender.Names(),
		run: func(ctx context.Context, t *trial) error {
			if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
				return err
			}
			rate := t.even()
			if t.contender == contender.Skeleton {
				// The skeleton asks about one Node after the other as fast as the cloud
				// answers. It does not spread these calls over the period.
				rate = float64(t.Quota)
			}
			if err := t.lead(ctx, rate); err != nil {
				return err
			}
			if err := t.begin(ctx); err != nil {
				return err
			}
			written, err := t.beat(ctx, every)
			if err != nil {
				return err
			}
			if err := t.end(ctx); err != nil {
				return err
			}
			t.note(report.Quantity("heartbeats", float64(written)/t.row.Seconds, "a second"))
			t.note(report.Quantity(report.IdleCPU, 100*t.row.CPUSeconds/t.row.Seconds, "% of a core"))
			return nil
		},
	}
}

// heartbeatsFor returns the duration of the measurement of heartbeats.
func (s Settings) heartbeatsFor() time.Duration { return min(s.IdleFor, 30*time.Second) }

// beat writes one heartbeat of each Node in each period. It writes at an even rate,
// or as fast as the API server accepts heartbeats. It returns the number of written
// heartbeats.
func (t *trial) beat(ctx context.Context, every time.Duration) (written int, err error) {
	const part = 100 * time.Millisecond
	nodes := t.nodes.Names()
	tick := t.clock.NewTicker(part)
	defer tick.Stop()
	for t.clock.Since(t.began.at) < t.heartbeatsFor() {
		due := int(float64(len(nodes)) * t.clock.Since(t.began.at).Seconds() / every.Seconds())
		err := cluster.Each(due-written, func(n int) error {
			return t.plane.Beat(ctx, nodes[(written+n)%len(nodes)], t.clock.Now())
		})
		if err != nil {
			return written, err
		}
		written = max(written, due)
		select {
		case <-tick.C():
		case <-ctx.Done():
			return written, context.Cause(ctx)
		}
	}
	return written, t.failure()
}

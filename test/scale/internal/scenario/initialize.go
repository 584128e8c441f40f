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
	Alone:    []contender.Name{contender.Fairlead},
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, uninitialized); err != nil {
			return err
		}
		return t.initialize(ctx)
	},
}

// scales returns the scenario initialize with 10, 20 and 40 % of the Nodes. The results
// show the cost of a Node in clusters of several sizes.
func scales() []Scenario {
	var all []Scenario
	for _, percent := range []int{10, 20, 40} {
		s := initialize
		s.Name = fmt.Sprintf("scale-%d", percent)
		s.Size = func(s Settings) Settings {
			s.Nodes = s.percent(percent)
			return s
		}
		all = append(all, withPlain(s)...)
	}
	return all
}

// initialize measures the time from the daemon's start until all Nodes are initialised.
func (t *trial) initialize(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if _, err := t.replica(); err != nil {
		return err
	}
	const each = time.Second / 3 // far more than any contender needs
	within := time.Minute + time.Duration(t.Nodes)*each
	if err := t.until(ctx, report.MedianNode, within, initialized(2)); err != nil {
		return err
	}
	if err := t.until(ctx, report.AllInitialized, within, allInitialized); err != nil {
		return err
	}
	if needs := t.quotaNeeds(t.Nodes); t.scenario.FastPaths == Off && needs > 0 { // Each Node needs a separate call.
		t.note(report.Took(report.QuotaNeeds, needs))
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	return t.end(ctx)
}

// quotaNeeds returns the shortest time in which the quota allows this many calls.
func (s Settings) quotaNeeds(calls int) time.Duration {
	return time.Duration(max(0, calls-s.Burst)) * time.Second / time.Duration(s.Quota)
}

// allInitialized returns nil if every Node is initialised.
func allInitialized(nodes map[string]*corev1.Node) error { return initialized(1)(nodes) }

// initialized returns a function that checks Nodes. It returns nil if enough Nodes are
// initialised: all if oneIn is 1, half of them if oneIn is 2, and so on.
func initialized(oneIn int) func(map[string]*corev1.Node) error {
	return func(nodes map[string]*corev1.Node) error {
		done := 0
		for _, node := range nodes {
			if cluster.IsInitialized(node) {
				done++
			}
		}
		if done*oneIn < len(nodes) {
			return fmt.Errorf("%d of %d Nodes are initialised", done, len(nodes))
		}
		return nil
	}
}

package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

const (
	// youth is longer than Fairlead treats a Node as new by default, and than a daemon
	// takes to compare all Nodes with the cloud once, which is 5 minutes for both. The
	// scenarios in which machines end wait for that.
	youth = 6 * time.Minute
	// unnoticed is the time from the end of a machine until the control plane sees that
	// its kubelet is silent.
	unnoticed = 45 * time.Second
)

// ending is a scenario in which machines end.
type ending struct {
	name    string
	nodes   int           // size of the cluster, at most
	percent int           // of the Nodes whose machines end, at least one
	apart   time.Duration // from the end of the first machine to that of the others; 0 means all at once
	place   func(n int) (zone, region string)
	taint   string // on the first Node, which ends
	why     string // what the scenario is about
}

// endings has the scenarios in which machines end.
var endings = []ending{
	{name: "removal", nodes: 500, percent: 5},
	{name: "mass-removal", nodes: 500, percent: 60, why: "In each zone, most kubelets are silent."},
	{name: "spot-storm-10", nodes: 10, percent: 40, place: oneZone, why: "The other Nodes of the zone report."},
	{name: "spot-storm-100", nodes: 100, percent: 30, place: oneZone, why: "The other Nodes of the zone report."},
	{name: "two-deaths-5s", nodes: 50, percent: 4, apart: 5 * time.Second},
	{name: "two-deaths-20s", nodes: 50, percent: 4, apart: 20 * time.Second},
	{name: "two-deaths-30s", nodes: 50, percent: 4, apart: 30 * time.Second},
	// When the other evidence about the first Node is complete, the second one still reports.
	{name: "two-deaths-50s", nodes: 50, percent: 4, apart: 50 * time.Second},
	{name: "last-of-a-region", nodes: 31, percent: 1, place: firstApart, why: "It was the only one of its region."},
	{
		name: "last-of-a-region-announced", nodes: 31, percent: 1, place: firstApart, taint: "ToBeDeletedByClusterAutoscaler",
		why: "It was the only one of its region, and cluster-autoscaler's taint announced the end.",
	},
}

func oneZone(int) (zone, region string) { return "sim-1a", "sim-1" }

func firstApart(n int) (zone, region string) {
	if n == 0 {
		return "sim-2a", "sim-2"
	}
	return threeZones(n)
}

// removals returns the scenarios of all endings.
func removals() []Scenario {
	all := make([]Scenario, len(endings))
	for n, e := range endings {
		all[n] = Scenario{
			Name: e.name, What: e.what, Provider: contender.Simulated, Size: atMost(e.nodes), Flags: noFlags, place: e.place,
			run: func(ctx context.Context, t *trial) error { return t.terminate(ctx, e) },
		}
	}
	return all
}

func (e ending) what(s Settings) string {
	text := fmt.Sprintf("%d of %d machines end at once, and %v later their kubelets count as silent.", s.percent(e.percent), s.Nodes, unnoticed)
	switch {
	case s.percent(e.percent) == 1:
		text = fmt.Sprintf("One of %d machines ends, and %v later its kubelet counts as silent.", s.Nodes, unnoticed)
	case e.apart > 0:
		text = fmt.Sprintf("Of %d machines one ends, and another one %v later. Each kubelet counts as silent %v after its machine has ended.", s.Nodes, e.apart, unnoticed)
	}
	if e.why != "" {
		text += " " + e.why
	}
	return text
}

// node returns the n-th Node. Of several machines that end, the first one is always that
// of the first Node.
func (e ending) node(i simulator.Instance, n int, now time.Time) *corev1.Node {
	node := cluster.Initialized(i, n, now)
	if n == 0 && e.taint != "" {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: e.taint, Effect: corev1.TaintEffectNoSchedule})
	}
	return node
}

// terminate measures the times from the moment when the first kubelet counts as silent
// until the first Node and all Nodes of ended machines are gone.
func (t *trial) terminate(ctx context.Context, e ending) error {
	const within = 40 * time.Minute
	instances, err := t.fleet(ctx, e.node)
	if err != nil {
		return err
	}
	if err := t.lead(ctx, t.even()); err != nil {
		return err
	}
	t.progress("waits until the Nodes are %v old", youth)
	if err := t.wait(ctx, youth); err != nil {
		return err
	}
	victims := spread(instances, t.percent(e.percent))
	first, rest := victims, victims[len(victims):]
	if e.apart > 0 {
		first, rest = victims[:1], victims[1:]
	}
	ended := make(chan error, 1)
	go func() { ended <- t.endAfter(ctx, e.apart, rest) }()
	if err := t.terminateAll(ctx, first); err != nil {
		return err
	}
	if err := t.wait(ctx, unnoticed); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.silence(ctx, first); err != nil {
		return err
	}
	err = t.until(ctx, report.FirstGone, within, firstGone(victims))
	if err := errors.Join(<-ended, err); err != nil {
		return err
	}
	if err := t.until(ctx, report.NodesGone, within, gone(victims)); err != nil {
		return err
	}
	if n := left(t, victims); n > 0 {
		t.note(report.Number(report.GoneByThen, len(victims)-n, len(victims)))
	} else if err := t.calm(ctx); err != nil {
		return err
	}
	return t.end(ctx)
}

// endAfter ends machines after a pause. Later their kubelets fall silent.
func (t *trial) endAfter(ctx context.Context, pause time.Duration, instances []simulator.Instance) error {
	if len(instances) == 0 {
		return nil
	}
	if err := t.wait(ctx, pause); err != nil {
		return err
	}
	if err := t.terminateAll(ctx, instances); err != nil {
		return err
	}
	if err := t.wait(ctx, unnoticed); err != nil {
		return err
	}
	return t.silence(ctx, instances)
}

// terminateAll terminates the instances.
func (t *trial) terminateAll(ctx context.Context, instances []simulator.Instance) error {
	return cluster.Each(len(instances), func(n int) error { return t.cloud.TerminateInstance(ctx, instances[n].ID) })
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

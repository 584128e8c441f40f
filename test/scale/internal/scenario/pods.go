package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// storedPods is a scenario with real kubelets. It measures what follows from a deleted
// Node: its Pods and their volumes are free for another one.
var storedPods = Scenario{
	Name: "spot-storm-pods",
	What: func(s Settings) string {
		return fmt.Sprintf("%d machines with kubelets are in two zones, and run a StatefulSet with %d Pods, each with a volume. 4 machines of a zone end at once.", s.Nodes, s.Nodes)
	},
	Provider: contender.Simulated,
	Kubelets: true,
	Size:     atMost(20),
	Flags:    noFlags,
	place:    func(n int) (zone, region string) { return "sim-1" + string("ab"[n%2]), "sim-1" },
	run: func(ctx context.Context, t *trial) error {
		instances, err := t.store(ctx)
		if err != nil {
			return err
		}
		var victims []simulator.Instance
		for n := 0; n < len(instances) && len(victims) < 4; n += 2 {
			victims = append(victims, instances[n])
		}
		return t.move(ctx, victims)
	},
}

// store makes a cluster whose Pods have volumes and run. The Nodes are not new.
func (t *trial) store(ctx context.Context) ([]simulator.Instance, error) {
	instances, err := t.fleet(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := t.lead(ctx, t.even()); err != nil {
		return nil, err
	}
	if err := t.nodes.Await(ctx, 2*time.Minute, allInitialized); err != nil {
		return nil, err
	}
	if err := t.plane.Store(ctx, t.Nodes); err != nil {
		return nil, err
	}
	if err := t.poll(ctx, 5*time.Minute, t.podsAre(ctx, runs, nil)); err != nil {
		return nil, err
	}
	t.progress("%d Pods run; waits until the Nodes are %v old", t.Nodes, youth)
	return instances, t.wait(ctx, youth)
}

// move ends machines, and measures the time until their Pods run elsewhere.
func (t *trial) move(ctx context.Context, victims []simulator.Instance) error {
	const within = 30 * time.Minute
	pods, err := t.plane.Pods(ctx)
	if err != nil {
		return err
	}
	moving := 0
	for _, pod := range pods {
		if isOn(pod, victims) {
			moving++
		}
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.terminateAll(ctx, victims); err != nil {
		return err
	}
	t.note(report.Number("Pods on them", moving, len(pods)))
	if err := t.until(ctx, report.NodesGone, within, gone(victims)); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		done func(corev1.Pod) bool
	}{{report.PodsBound, isBound}, {report.PodsMoved, runs}} {
		err := t.poll(ctx, within, t.podsAre(ctx, step.done, victims))
		if err := t.took(err, step.what, t.clock.Since(t.began.at)); err != nil {
			return err
		}
	}
	return t.end(ctx)
}

// podsAre returns a check. The check attaches all volumes that have to be attached. It
// returns nil if the condition is true for all Pods, and none is on one of the instances.
func (t *trial) podsAre(ctx context.Context, condition func(corev1.Pod) bool, ended []simulator.Instance) func() error {
	return func() error {
		if err := t.plane.AttachVolumes(ctx); err != nil {
			return err
		}
		pods, err := t.plane.Pods(ctx)
		if err != nil {
			return err
		}
		done := 0
		for _, pod := range pods {
			if condition(pod) && !isOn(pod, ended) {
				done++
			}
		}
		if done < t.Nodes {
			return fmt.Errorf("%d of %d Pods are ready for that", done, t.Nodes)
		}
		return nil
	}
}

func isBound(pod corev1.Pod) bool { return pod.Spec.NodeName != "" }

func runs(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

func isOn(pod corev1.Pod, instances []simulator.Instance) bool {
	return slices.ContainsFunc(instances, func(i simulator.Instance) bool { return i.Name == pod.Spec.NodeName })
}

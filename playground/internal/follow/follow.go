// Package follow keeps a kubelet running for each running instance of the simulated cloud. It lists the instances, makes
// a plan, and boots or kills kubelets. The rules are in plan.go.
package follow

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	period  = time.Second
	timeout = 10 * time.Second
)

// Cloud lists the instances.
type Cloud interface {
	Instances(ctx context.Context) ([]simulator.Instance, error)
}

// Nodes starts and kills the kubelets.
type Nodes interface {
	BootNode(name string) error
	KillNode(ctx context.Context, name string) error
}

// Follower boots and kills kubelets.
type Follower struct {
	cloud Cloud
	nodes Nodes
	note  func(format string, args ...any)

	machines map[string]machine // by instance ID
	refused  map[string]string  // the last reported reason, by instance ID
	silent   bool               // the cloud did not answer the last call, and this was reported
}

// New returns a follower of cloud. The follower calls note to report what it does.
func New(cloud Cloud, nodes Nodes, note func(format string, args ...any)) *Follower {
	return &Follower{
		cloud: cloud, nodes: nodes, note: note,
		machines: map[string]machine{}, refused: map[string]string{},
	}
}

// Run follows the cloud until ctx ends. It returns an error if a kubelet cannot be booted or killed. While the cloud
// does not answer, nothing changes.
func (f *Follower) Run(ctx context.Context, clock clock.WithTicker) error {
	ticker := clock.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := f.step(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (f *Follower) step(ctx context.Context) error {
	instances, answered := f.ask(ctx)
	if !answered {
		return nil
	}
	for _, a := range plan(instances, f.machines) {
		if err := f.apply(ctx, a); err != nil {
			return fmt.Errorf("instance %s, node %s: %w", a.instance, a.node, err)
		}
	}
	return nil
}

// ask lists the instances. If several calls in a row fail, it reports only the
// first failure.
func (f *Follower) ask(ctx context.Context) (instances []simulator.Instance, answered bool) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	instances, err := f.cloud.Instances(asking)
	if err != nil && !f.silent && ctx.Err() == nil {
		f.note("the cloud does not answer, nothing is changed: %v", err)
	}
	f.silent = err != nil
	return instances, err == nil
}

func (f *Follower) apply(ctx context.Context, a action) error {
	switch a.do {
	case boot:
		if err := f.nodes.BootNode(a.node); err != nil {
			return err
		}
		f.machines[a.instance] = machine{node: a.node, on: true}
		f.note("%s boots: %s (%s)", a.node, a.why, a.instance)
	case kill:
		if err := f.nodes.KillNode(ctx, a.node); err != nil {
			return err
		}
		f.machines[a.instance] = machine{node: a.node}
		f.note("%s is off: %s (%s)", a.node, a.why, a.instance)
	case forget:
		delete(f.machines, a.instance)
	case refuse:
		if f.refused[a.instance] == a.why {
			return nil
		}
		f.refused[a.instance] = a.why
		f.note("%s is not booted: %s (%s)", a.node, a.why, a.instance)
		return nil
	}
	delete(f.refused, a.instance)
	return nil
}

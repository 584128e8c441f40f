package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// changeChecks returns the checks in which somebody changes a machine.
func changeChecks() []Check {
	return []Check{
		{
			ID: "instances/stopped", Level: Extended, Since: "0.2", Needs: []Need{NeedMachines, NeedPowerSwitch}, Feature: Shutdown, run: stopped,
			Title:  "A stopped instance exists and is shut down",
			Source: sourceShutdown, Cost: "Pods of a stopped machine wait for it for ever, or its Node is deleted.",
		},
		{
			ID: "instances/in-between", Level: Extended, Since: "0.2", Needs: []Need{NeedMachines, NeedPowerSwitch}, Feature: Shutdown, run: inBetween,
			Title:  "An instance that starts exists and is not shut down",
			Source: sourceShutdown, Cost: "A Node that comes back keeps the shutdown taint, or is deleted.",
		},
		{
			ID: "instances/renamed", Level: Core, Since: "0.2", Needs: []Need{NeedMachines, NeedRenamer}, run: renamed,
			Title:  "A renamed instance still exists when it is asked for by ID",
			Source: sourceMetadata, Cost: costDeleted,
		},
		{
			ID: "instances/retagged", Level: Core, Since: "0.2", Needs: []Need{NeedMachines, NeedRetagger}, run: retagged,
			Title:  "An instance that lost its tags still exists when it is asked for by ID",
			Source: sourceExists, Cost: costDeleted,
		},
	}
}

// down returns an error unless InstanceShutdown returns the wanted answer.
func (t *trial) down(n *corev1.Node, want bool) error { //nolint:revive // the wanted answer
	if down, err := t.instances().InstanceShutdown(t.ctx, n); down != want || err != nil {
		return fmt.Errorf("InstanceShutdown(%s) = %v, %w; want %v, nil", show(n), down, shown(err), want)
	}
	return nil
}

// stopIt creates a machine, stops it, and waits until the provider says that it is shut
// down. It returns the machine and its Node.
func stopIt(t *trial) (Machine, *corev1.Node) {
	m := t.machine("a")
	n := joined(m)
	t.eventually(func() error { return t.down(n, false) })
	t.must("stop machine", t.world.(PowerSwitch).StopMachine(t.ctx, m)) //nolint:forcetypeassert // the check says that it needs one
	t.eventually(func() error { return t.down(n, true) })
	return m, n
}

func stopped(t *trial) {
	_, n := stopIt(t)
	if err := t.present(n); err != nil {
		t.failf("the instance is stopped: %v", err)
	}
}

func inBetween(t *trial) {
	m, n := stopIt(t)
	t.must("start machine", t.world.(PowerSwitch).StartMachine(t.ctx, m)) //nolint:forcetypeassert // the check says that it needs one
	t.eventually(func() error {
		if err := t.present(n); err != nil {
			t.failf("the instance starts: %v", err)
		}
		return t.down(n, false)
	})
}

func renamed(t *trial) {
	m := t.machine("a")
	other := t.name("other")
	t.must("rename machine", t.world.(Renamer).RenameMachine(t.ctx, m, other)) //nolint:forcetypeassert // the check says that it needs one
	_ = t.await(func() error { return t.present(identified(other, "")) })      // the new name may not be visible; this check is not about that
	t.stillThere(m, "the instance was renamed")
}

func retagged(t *trial) {
	m := t.machine("a")
	t.must("untag machine", t.world.(Retagger).UntagMachine(t.ctx, m)) //nolint:forcetypeassert // the check says that it needs one
	t.stillThere(m, "the instance has lost its tags")
	t.refresh() // the new provider remembers nothing
	t.stillThere(m, "the instance has lost its tags, and the daemon was restarted")
}

func (t *trial) stillThere(m Machine, when string) {
	if err := t.present(joined(m)); err != nil {
		t.failf("%s: %v", when, err)
	}
	if err := t.is(joined(m), m); err != nil {
		t.failf("%s: %v", when, err)
	}
}

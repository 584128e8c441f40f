package conformance

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// goneChecks are the checks of machines that are terminated.
var goneChecks = []Check{
	{
		ID: "instances/gone-by-id", Level: Core, Needs: needs(needMachines), Source: sourceExists,
		Title: "A terminated instance is absent when it is asked for by ID",
		Cost:  costNeverGone,
		run:   onGone(joined, (*trial).absent),
	},
	{
		ID: "instances/gone-by-name", Level: Core, Needs: needs(needMachines), Source: sourceExists,
		Title: "A terminated instance is absent when it is asked for by name",
		Cost:  "A Node without provider ID whose machine is gone is never deleted (kubernetes/kubernetes#141364).",
		run:   onGone(named, (*trial).absent),
	},
	{
		ID: "instances/gone-metadata", Level: Core, Needs: needs(needMachines), Source: sourceMetadata,
		Title: "InstanceMetadata of a terminated instance returns nil and an error",
		Cost:  "A Node is initialised with metadata of a machine that is gone.",
		run:   onGone(joined, (*trial).undescribed),
	},
	{
		ID: "instances/gone-metadata-kind", Level: Extended, Needs: needs(needMachines),
		Title:  "The error of InstanceMetadata about a terminated instance wraps InstanceNotFound",
		Source: "cloudprovider.InstanceNotFound; no document says that InstanceMetadata returns it",
		Cost:   "The daemon cannot say that the Node waits because its machine is gone.",
		run: onGone(joined, func(t *trial, n *corev1.Node) error {
			if got, err := t.instances().InstanceMetadata(t.ctx, n); got != nil || !errors.Is(err, cloudprovider.InstanceNotFound) {
				return fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want nil and an error that wraps cloudprovider.InstanceNotFound", show(n), got, shown(err))
			}
			return nil
		}),
	},
	{
		ID: "instances/gone-shutdown", Level: Core, Needs: needs(needMachines), Source: sourceShutdown,
		Title: "A terminated instance is not shut down",
		Cost:  "The Node gets the shutdown taint and is kept: " + costNeverGone,
		run: onGone(joined, func(t *trial, n *corev1.Node) error {
			if down, err := t.instances().InstanceShutdown(t.ctx, n); down {
				return fmt.Errorf("InstanceShutdown(%s) = true, %w; want false, with or without an error", show(n), shown(err))
			}
			return nil
		}),
	},
}

// onGone returns a check that creates and terminates a machine, and waits for some time
// until the provider says that the machine does not exist. Then it asks the question about
// the machine's Node.
func onGone(node func(Machine) *corev1.Node, question func(*trial, *corev1.Node) error) func(*trial) {
	return func(t *trial) {
		m := t.machine("a")
		n := node(m)
		t.awaitPresent(n)
		t.terminate(m)
		_ = t.await(func() error { return t.absent(n) }) // other checks report an instance that never becomes absent
		t.eventually(func() error { return question(t, n) })
	}
}

// changeChecks are the checks in which somebody changes a machine.
var changeChecks = []Check{
	{
		ID: "instances/stopped", Level: Extended, Needs: needs(needMachines, needPowerSwitch), Feature: Shutdown, Source: sourceShutdown,
		Title: "A stopped instance exists and is shut down",
		Cost:  "Pods of a stopped machine wait for it for ever, or its Node is deleted.",
		run: func(t *trial) {
			if err := t.present(joined(t.stopped())); err != nil {
				t.failf("the instance is stopped: %v", err)
			}
		},
	},
	{
		ID: "instances/in-between", Level: Extended, Needs: needs(needMachines, needPowerSwitch), Feature: Shutdown, Source: sourceShutdown,
		Title: "An instance that starts exists and is not shut down",
		Cost:  "A Node that comes back keeps the shutdown taint, or is deleted.",
		run: func(t *trial) {
			m := t.stopped()
			t.must("start machine", as[PowerSwitch](t).StartMachine(t.ctx, m))
			t.eventually(func() error {
				if err := t.present(joined(m)); err != nil {
					t.failf("the instance starts: %v", err)
				}
				return t.down(joined(m), false)
			})
		},
	},
	{
		ID: "instances/renamed", Level: Core, Needs: needs(needMachines, needRenamer), Source: sourceMetadata,
		Title: "A renamed instance still exists when it is asked for by ID",
		Cost:  costDeleted,
		run: func(t *trial) {
			m, other := t.machine("a"), t.name("other")
			t.must("rename machine", as[Renamer](t).RenameMachine(t.ctx, m, other))
			_ = t.await(func() error { return t.present(identified(other, "")) }) // the new name may not be visible; this check is not about that
			t.stillThere(m, "the instance was renamed")
		},
	},
	{
		ID: "instances/retagged", Level: Core, Needs: needs(needMachines, needRetagger), Source: sourceExists,
		Title: "An instance that lost its tags still exists when it is asked for by ID",
		Cost:  costDeleted,
		run: func(t *trial) {
			m := t.machine("a")
			t.must("untag machine", as[Retagger](t).UntagMachine(t.ctx, m))
			t.stillThere(m, "the instance has lost its tags")
			t.restart()
			t.stillThere(m, "the instance has lost its tags, and the daemon was restarted")
		},
	},
}

// stopped creates a machine, stops it, and waits until the provider says that it is shut
// down.
func (t *trial) stopped() Machine {
	m := t.machine("a")
	t.eventually(func() error { return t.down(joined(m), false) })
	t.must("stop machine", as[PowerSwitch](t).StopMachine(t.ctx, m))
	t.eventually(func() error { return t.down(joined(m), true) })
	return m
}

func (t *trial) stillThere(m Machine, when string) {
	for _, err := range []error{t.present(joined(m)), t.is(joined(m), m)} {
		if err != nil {
			t.failf("%s: %v", when, err)
		}
	}
}

package conformance

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// goneChecks returns the checks of machines that are terminated.
func goneChecks() []Check {
	return []Check{
		{
			ID: "instances/gone-by-id", Level: Core, Since: "0.2", Needs: []Need{NeedMachines},
			Title:  "A terminated instance is absent when it is asked for by ID",
			Source: sourceExists, Cost: costNeverGone,
			run: func(t *trial) { t.eventually(onGone(t, joined, t.absent)) },
		},
		{
			ID: "instances/gone-by-name", Level: Core, Since: "0.2", Needs: []Need{NeedMachines},
			Title:  "A terminated instance is absent when it is asked for by name",
			Source: sourceExists, Cost: "A Node without provider ID whose machine is gone is never deleted (kubernetes/kubernetes#141364).",
			run: func(t *trial) { t.eventually(onGone(t, named, t.absent)) },
		},
		{
			ID: "instances/gone-metadata", Level: Core, Since: "0.2", Needs: []Need{NeedMachines},
			Title:  "InstanceMetadata of a terminated instance returns nil and an error",
			Source: sourceMetadata, Cost: "A Node is initialised with metadata of a machine that is gone.",
			run: func(t *trial) { t.eventually(onGone(t, joined, t.noMetadata)) },
		},
		{
			ID: "instances/gone-metadata-kind", Level: Extended, Since: "0.2", Needs: []Need{NeedMachines},
			Title:  "The error of InstanceMetadata about a terminated instance wraps InstanceNotFound",
			Source: "cloudprovider.InstanceNotFound; no document says that InstanceMetadata returns it",
			Cost:   "The daemon cannot say that the Node waits because its machine is gone.",
			run:    func(t *trial) { t.eventually(onGone(t, joined, t.notFound)) },
		},
		{
			ID: "instances/gone-shutdown", Level: Core, Since: "0.2", Needs: []Need{NeedMachines},
			Title:  "A terminated instance is not shut down",
			Source: sourceShutdown, Cost: "The Node gets the shutdown taint and is kept: " + costNeverGone,
			run: func(t *trial) {
				t.eventually(onGone(t, joined, func(n *corev1.Node) error {
					if down, err := t.instances().InstanceShutdown(t.ctx, n); down {
						return fmt.Errorf("InstanceShutdown(%s) = true, %w; want false, with or without an error", show(n), shown(err))
					}
					return nil
				}))
			},
		},
	}
}

// onGone creates and terminates a machine. It then waits for some time until the provider
// says that the machine does not exist. The returned function asks the question about the
// machine's Node.
func onGone(t *trial, node func(Machine) *corev1.Node, question func(*corev1.Node) error) func() error {
	m := t.machine("a")
	n := node(m)
	t.eventually(func() error { return t.present(n) })
	t.terminate(m)
	_ = t.await(func() error { return t.absent(n) }) // other checks report an instance that never becomes absent
	return func() error { return question(n) }
}

// noMetadata returns an error unless InstanceMetadata returns nil metadata and an error.
func (t *trial) noMetadata(n *corev1.Node) error {
	got, err := t.instances().InstanceMetadata(t.ctx, n)
	if got == nil && err != nil {
		return nil //nolint:nilerr // an error is wanted
	}
	return fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want nil and an error", show(n), got, shown(err))
}

// notFound returns an error unless InstanceMetadata returns nil metadata and an
// error that wraps InstanceNotFound.
func (t *trial) notFound(n *corev1.Node) error {
	got, err := t.instances().InstanceMetadata(t.ctx, n)
	if got == nil && errors.Is(err, cloudprovider.InstanceNotFound) {
		return nil
	}
	return fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want nil and an error that wraps cloudprovider.InstanceNotFound", show(n), got, shown(err))
}

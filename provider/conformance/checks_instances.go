package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// instanceChecks returns the checks of cloudprovider.InstancesV2.
func instanceChecks() []Check {
	return slices.Concat(identityChecks(), goneChecks(), changeChecks(), faultChecks(), answerChecks(), timeChecks())
}

// The parts of the contract that the checks cite.
const (
	sourceExists   = "InstancesV2.InstanceExists: returns true if the instance for the given node exists according to the cloud provider"
	sourceShutdown = "InstancesV2.InstanceShutdown: returns true if the instance is shutdown according to the cloud provider"
	sourceMetadata = "InstancesV2.InstanceMetadata: always check node.spec.providerID first; cases where it is empty"
	sourceAnswers  = "InstanceMetadata: its values are translated into fields and labels of the Node"
	sourceNotFound = "cloudprovider.InstanceNotFound, and InstanceExists: false without an error deletes the Node"
	sourceID       = "InstanceMetadata.ProviderID: its format must not change in any incompatible way"
	sourceContext  = "the ctx of each method, as package context says"
)

// These texts are the Cost of more than one check.
const (
	costDeleted   = "The Node of a running machine is deleted, together with its pods."
	costNeverGone = "The Node of a machine that is gone is never deleted, and its pods are not started elsewhere."
	costStuck     = "Workers wait for a cloud that does not answer, and nothing is done for any Node."
)

// exists calls InstanceExists.
func (t *trial) exists(ctx context.Context, n *corev1.Node) (bool, error) {
	return t.instances().InstanceExists(ctx, n)
}

// present returns an error unless the provider says that the instance of a Node exists.
func (t *trial) present(n *corev1.Node) error {
	if exists, err := t.exists(t.ctx, n); !exists || err != nil {
		return fmt.Errorf("InstanceExists(%s) = %v, %w; want true, nil", show(n), exists, shown(err))
	}
	return nil
}

// absent returns an error unless the provider says that the instance of a Node does not
// exist.
func (t *trial) absent(n *corev1.Node) error {
	if exists, err := t.exists(t.ctx, n); exists || err != nil {
		return fmt.Errorf("InstanceExists(%s) = %v, %w; want false, nil", show(n), exists, shown(err))
	}
	return nil
}

// notAbsent fails the check if the provider says that an instance does not exist. It is
// for situations in which the provider cannot know whether the instance exists.
func (t *trial) notAbsent(ctx context.Context, n *corev1.Node, when string) {
	switch exists, err := t.exists(ctx, n); {
	case !exists && err == nil:
		t.errorf("%s: InstanceExists(%s) = false, nil; want an error, because nobody has said that the instance does not exist", when, show(n))
	case errors.Is(err, cloudprovider.InstanceNotFound):
		t.errorf("%s: InstanceExists(%s) = %v, %v; want an error that is not InstanceNotFound", when, show(n), exists, err)
	}
}

// metadata returns the metadata of a Node's instance.
func (t *trial) metadata(n *corev1.Node) *cloudprovider.InstanceMetadata {
	got, err := t.instances().InstanceMetadata(t.ctx, n)
	if got == nil || err != nil {
		t.failf("InstanceMetadata(%s) = %+v, %v; want metadata and nil", show(n), got, shown(err))
	}
	return got
}

// is returns an error unless the metadata of a Node has the provider ID of the machine.
func (t *trial) is(n *corev1.Node, m Machine) error {
	got, err := t.instances().InstanceMetadata(t.ctx, n)
	switch {
	case got == nil || err != nil:
		return fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want metadata and nil", show(n), got, shown(err))
	case got.ProviderID != m.ProviderID:
		return fmt.Errorf("InstanceMetadata(%s) has the provider ID %q; want %q", show(n), got.ProviderID, m.ProviderID)
	}
	return nil
}

// callTime is the time limit of t.brief. It is short, because the cloud answers the
// calls in t.brief at once, or not at all.
const callTime = 2 * time.Second

// brief calls f with a context that ends soon.
func (t *trial) brief(f func(context.Context)) {
	ctx, cancel := context.WithTimeout(t.ctx, callTime)
	defer cancel()
	f(ctx)
}

// errNone stands for nil in a text.
var errNone = errors.New("nil")

// shown returns the error, or errNone if the error is nil.
func shown(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

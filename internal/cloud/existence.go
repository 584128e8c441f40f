package cloud

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// Sighting is what the cloud has said when it was asked whether an instance
// exists.
type Sighting struct {
	// Present is false only where the cloud itself has said that there is no
	// such instance.
	Present bool
	// Asked is when the question began; the answer may be much younger.
	Asked time.Time
}

// Existence asks whether the instance of a node exists. Each answer comes from
// a call that was made for this question alone: nothing is shared, batched or
// cached, since the answer may end the life of a Node (S1). While such a call
// is under way, a second question about the same node is refused with Slow.
func (i *Instances) Existence(ctx context.Context, node *corev1.Node) (Sighting, error) {
	return i.existence.ask(urgently(ctx), "InstanceExists", identity(node), func(ctx context.Context) (Sighting, error) {
		asked := i.gateway.clock.Now()
		present, err := i.exists(ctx, node)
		return Sighting{Present: present, Asked: asked}, err
	})
}

// Shutdown asks whether the instance of a node is shut down. The kind of the
// error is NotImplemented where the provider cannot tell.
func (i *Instances) Shutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	return i.shutdowns.ask(urgently(ctx), "InstanceShutdown", identity(node), func(ctx context.Context) (bool, error) {
		return i.shutDown(ctx, node)
	})
}

func (p modern) exists(ctx context.Context, node *corev1.Node) (bool, error) {
	return read(ctx, p.gateway, "InstanceExists", func(ctx context.Context) (bool, error) {
		present, err := p.v2.InstanceExists(ctx, node.DeepCopy())
		return inTime(ctx, present, err)
	})
}

func (p modern) shutDown(ctx context.Context, node *corev1.Node) (bool, error) {
	return read(ctx, p.gateway, "InstanceShutdown", func(ctx context.Context) (bool, error) {
		return p.v2.InstanceShutdown(ctx, node.DeepCopy())
	})
}

// exists asks by provider ID. A node without one is looked up by name first,
// and there alone a "not found" is an answer; to an ID that the cloud has just
// given it is an error (upstream-behaviour 4.1).
func (p legacy) exists(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := p.identified(ctx, node)
	if isAlone(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return read(ctx, p.gateway, "InstanceExistsByProviderID", func(ctx context.Context) (bool, error) {
		present, err := p.instances.InstanceExistsByProviderID(ctx, id)
		return inTime(ctx, present, err)
	})
}

func (p legacy) shutDown(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := p.identified(ctx, node)
	if err != nil {
		return false, err
	}
	return read(ctx, p.gateway, "InstanceShutdownByProviderID", func(ctx context.Context) (bool, error) {
		return p.instances.InstanceShutdownByProviderID(ctx, id)
	})
}

// inTime takes an "absent" back that was said after the deadline: a provider
// may have given up and have dropped the error.
func inTime(ctx context.Context, present bool, err error) (bool, error) { //nolint:revive // flag-parameter: it is the provider's answer
	if err == nil && !present {
		err = ctx.Err()
	}
	return present, err
}

// isAlone tells whether an error is the target with nothing but words around
// it: beside another error it is no answer of the cloud.
func isAlone(err, target error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err == target { //nolint:errorlint // errors.Is looks into lists, too
			return true
		}
	}
	return false
}

// identified is the node's provider ID, which it may have already.
func (p legacy) identified(ctx context.Context, node *corev1.Node) (string, error) {
	if id := node.Spec.ProviderID; id != "" {
		return id, nil
	}
	id, err := read(ctx, p.gateway, "InstanceID", func(ctx context.Context) (string, error) {
		id, err := p.instances.InstanceID(ctx, types.NodeName(node.Name))
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // What is said after the deadline is no answer.
		}
		return id, err
	})
	if err != nil {
		return "", err
	}
	return p.provider + "://" + id, nil
}

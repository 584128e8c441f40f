package cloud

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// Existence is the cloud's answer to the question whether an instance exists.
type Existence struct {
	// Present is false only if the cloud itself has answered that there is no
	// such instance.
	Present bool
	// Asked is the time at which the question was asked. The call began at that
	// time or later, and might have taken long.
	Asked time.Time
	// NotFound means that the provider has returned the contract's error
	// InstanceNotFound and no other error. The method Instances.Existence returns that
	// error, too.
	NotFound bool
}

// Existence asks whether the instance of a node exists. Each answer comes from a call
// about this node alone, and only one caller gets the answer. Nothing is coalesced,
// batched or cached, because the answer can lead to the deletion of the Node (promise S1).
// While the call is under way, a second question about the same node fails with Slow. If a
// caller gives up before the answer comes, the next caller gets that answer.
func (i *Instances) Existence(ctx context.Context, node *corev1.Node) (Existence, error) {
	c := call{method: "InstanceExists", priority: updatePriority, names: namesOfNode(node), region: regionOf(node)}
	return i.existence.ask(ctx, c, identity(node), func(ctx context.Context, c call) (Existence, error) {
		asked := time.Now()
		present, err := i.exists(ctx, c, node)
		return Existence{Present: present, Asked: asked, NotFound: !present && saysNotFound(err)}, err
	})
}

// Shutdown asks whether the instance of a node is shut down. The kind of the
// error is NotImplemented if the provider cannot tell.
func (i *Instances) Shutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	c := call{method: "InstanceShutdown", priority: updatePriority, names: namesOfNode(node), region: regionOf(node)}
	return i.shutdowns.ask(ctx, c, identity(node), func(ctx context.Context, c call) (bool, error) {
		return i.shutDown(ctx, c, node)
	})
}

func (p modern) exists(ctx context.Context, c call, node *corev1.Node) (bool, error) {
	return read(ctx, p.gateway, c, func(ctx context.Context) (bool, error) {
		present, err := p.v2.InstanceExists(ctx, node.DeepCopy())
		return inTime(ctx, present, err)
	})
}

func (p modern) shutDown(ctx context.Context, c call, node *corev1.Node) (bool, error) {
	return read(ctx, p.gateway, c, func(ctx context.Context) (bool, error) {
		return p.v2.InstanceShutdown(ctx, node.DeepCopy())
	})
}

// exists asks with the provider ID. If the node has none, exists first looks the ID up
// by the node's name. If this look-up returns "not found", the instance is absent. If
// the call with the provider ID returns "not found", exists returns an error instead
// (upstream-behaviour 4.1).
func (p legacy) exists(ctx context.Context, c call, node *corev1.Node) (bool, error) {
	id, err := p.providerID(ctx, c, node)
	if saysNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return read(ctx, p.gateway, c.to("InstanceExistsByProviderID"), func(ctx context.Context) (bool, error) {
		present, err := p.instances.InstanceExistsByProviderID(ctx, id)
		return inTime(ctx, present, err)
	})
}

func (p legacy) shutDown(ctx context.Context, c call, node *corev1.Node) (bool, error) {
	id, err := p.providerID(ctx, c, node)
	if err != nil {
		return false, err
	}
	return read(ctx, p.gateway, c.to("InstanceShutdownByProviderID"), func(ctx context.Context) (bool, error) {
		return p.instances.InstanceShutdownByProviderID(ctx, id)
	})
}

// inTime returns the context's error if the provider has answered "absent" or "not
// found" after the deadline. Such an answer proves nothing, because the provider might
// have given up and dropped the real error.
func inTime(ctx context.Context, present bool, err error) (bool, error) { //nolint:revive // flag-parameter: it is the provider's answer
	if late := ctx.Err(); late != nil && !present && (err == nil || (classifier{}).classify(err).Kind == NotFound) {
		return false, late
	}
	return present, err
}

// saysNotFound reports whether an error of the gateway is the contract's error
// InstanceNotFound, possibly wrapped in more text. If InstanceNotFound is joined
// with another error, the result is not an answer of the cloud.
func saysNotFound(err error) bool {
	if KindOf(err) != NotFound {
		return false // Some other errors can be unwrapped without end.
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if err == cloudprovider.InstanceNotFound { //nolint:errorlint // errors.Is looks into lists, too
			return true
		}
	}
	return false
}

// providerID returns the node's provider ID. If the node has none, it asks the
// provider.
func (p legacy) providerID(ctx context.Context, c call, node *corev1.Node) (string, error) {
	if id := node.Spec.ProviderID; id != "" {
		return id, nil
	}
	id, err := read(ctx, p.gateway, c.to("InstanceID"), func(ctx context.Context) (string, error) {
		id, err := p.instances.InstanceID(ctx, types.NodeName(node.Name))
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // A "not found" after the deadline is no answer.
		}
		return id, err
	})
	if err != nil {
		return "", err
	}
	return p.provider + "://" + id, nil
}

package nodelifecycle

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
)

// observe gathers the facts about the Node. It does no I/O.
func (c *Controller) observe(node *corev1.Node) observed {
	o := observed{now: c.clock.Now(), node: node, limits: c.limits, claim: c.claim}
	c.mu.Lock()
	o.memory = c.memories[node.Name]
	c.mu.Unlock()
	if o.needsPeers() {
		o.peers = c.peersOf(node)
	}
	return o
}

// peersOf returns the facts that the decision about this Node needs, gathered from all
// Nodes.
func (c *Controller) peersOf(node *corev1.Node) peers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index.peers(node, c.clock.Now())
}

// askExistence asks the cloud whether the instance of a Node exists. If it exists,
// askExistence also asks whether it runs. It returns an error only if the context ends.
func (c *Controller) askExistence(ctx context.Context, node *corev1.Node) (answer, error) {
	existence, err := c.instances.Existence(ctx, node)
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	c.metrics.called(callExists, err)
	a := c.limits.counted(node, answerOf(existence, err, c.clock.Now()))
	c.recordAnswer(node, a)
	if a.presence == present {
		down, err := c.instances.Shutdown(ctx, node)
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		c.metrics.called(callShutdown, err)
		a.power = powerOf(ctx, down, err)
	}
	return a, nil
}

// askAboutWitness asks the cloud about a witness for the Node. If the Node has no
// provider ID, the cloud is asked about both of them by name. askAboutWitness reports
// whether the cloud answered. It returns an error only if the context ends.
func (c *Controller) askAboutWitness(ctx context.Context, node, witness *corev1.Node) (answered bool, err error) {
	asked := witness.DeepCopy()
	if node.Spec.ProviderID == "" {
		asked.Spec.ProviderID = ""
	}
	existence, err := c.instances.Existence(ctx, asked)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	c.metrics.called(callExists, err)
	a := c.limits.counted(asked, answerOf(existence, err, c.clock.Now()))
	c.recordAnswer(asked, a)
	return a.presence != unknown, nil
}

func answerOf(e cloud.Existence, err error, now time.Time) answer {
	switch {
	case e.NotFound:
		return answer{asked: e.Asked, failure: nodecause.OfExistence(err), notFound: true}
	case err != nil:
		return answer{asked: now, failure: nodecause.OfExistence(err), again: cloud.HeldFor(err)}
	case e.Present:
		return answer{presence: present, asked: e.Asked}
	default:
		return answer{presence: absent, asked: e.Asked}
	}
}

func powerOf(ctx context.Context, down bool, err error) power {
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Could not find out whether the instance is shut down", "err", err)
		return unknownPower
	case down:
		return shutDown
	default:
		return running
	}
}

package ipam

import (
	"context"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries out a plan that ends the pass. It first writes the Node, and then the
// ledger. After that, it records the event and updates the memory.
func (c *Controller) apply(ctx context.Context, name string, o observed, p plan) loop.Result {
	if p.do == write {
		p = c.write(ctx, o, p)
	}
	switch p.do { //nolint:exhaustive // the others write nothing
	case adopt:
		c.adopt(ctx, o, p)
	case write:
		klog.FromContext(ctx).Info("Gave a Node its CIDRs", "node", klog.KObj(o.node), "podCIDRs", o.entry.cidrs)
	default:
		klog.FromContext(ctx).V(4).Info("Wrote no CIDRs", "node", name, "why", p.why)
	}
	if p.event != nil {
		c.warn(ctx, o.node, *p.event)
	}
	c.remember(name, o, p)
	return loop.Result{Retry: p.retry, After: p.after}
}

// write writes the Node's CIDRs. If the write fails, it returns the plan that reports
// the failure on the Node. The CIDRs then stay reserved for the Node: the API server
// may have carried the write out, or may still do so.
func (c *Controller) write(ctx context.Context, o observed, p plan) plan {
	_, err := c.nodes.Patch(ctx, kube.NodePatch{Node: o.node, PodCIDRs: texts(o.entry.cidrs), Annotations: map[string]*string{AnnotationFence: nil}})
	if err != nil {
		return c.refused(ctx, o, "The CIDRs of this Node", err)
	}
	c.change(func(l *ledger) { l.adopt(l.at(o.node.UID, o.node.Name), o.entry.cidrs) })
	return p
}

// fence writes this leader's name into the Node. From then on, the API server
// refuses all CIDRs that an earlier leader has sent. If the write fails, fence
// returns the plan that reports the failure on the Node.
func (c *Controller) fence(ctx context.Context, o observed) *plan {
	_, err := c.nodes.Patch(ctx, kube.NodePatch{Node: o.node, Annotations: map[string]*string{AnnotationFence: &o.self}})
	if err != nil {
		c.unfenced(o, err)
		p := c.refused(ctx, o, "The annotation "+AnnotationFence+" of this Node, without which no Node gets CIDRs,", err)
		return &p
	}
	c.trust(o)
	return nil
}

// unfenced records the time at which the API server first refused the fence because
// the annotations or the whole Node would become too large. It ignores other errors.
// After longWait, other Nodes no longer wait for this one.
func (c *Controller) unfenced(o observed, err error) {
	tooLarge := apierrors.IsInvalid(err) && !kube.IsStale(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "request is too large") // an error of etcd
	if !tooLarge {
		return
	}
	c.change(func(l *ledger) {
		if e := l.at(o.node.UID, o.node.Name); e.unfenced.IsZero() {
			e.unfenced = c.clock.Now()
		}
	})
}

// refused returns the plan after a failed write.
func (c *Controller) refused(ctx context.Context, o observed, what string, err error) plan {
	if kube.IsStale(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return stale(o)
	}
	klog.FromContext(ctx).Error(err, "Write of a Node's CIDRs failed", "node", klog.KObj(o.node), "podCIDRs", o.entry.cidrs)
	return failed(o, isFailed(what, err))
}

// adopt records the CIDRs that a Node has.
func (c *Controller) adopt(ctx context.Context, o observed, p plan) {
	if p.sighting != nil {
		c.sight(ctx, *p.sighting)
	}
	c.change(func(l *ledger) { l.adopt(l.at(o.node.UID, o.node.Name), parse(cidrsOf(o.node))) })
}

// release frees the CIDRs of Nodes that are gone. It requests a pass over each Node
// that waits, because that Node might get one of these CIDRs.
func (c *Controller) release(ctx context.Context, p plan) {
	c.change(func(l *ledger) {
		for _, uid := range p.gone {
			if e := l.entries[uid]; e != nil {
				klog.FromContext(ctx).V(2).Info("Released the CIDRs of a Node that is gone", "node", e.name, "podCIDRs", e.cidrs)
			}
			l.forget(uid)
		}
		c.wakeWaiting()
	})
}

// trust records that the Node is fenced, or needs no fence.
func (c *Controller) trust(o observed) {
	c.change(func(l *ledger) { l.trust(l.at(o.node.UID, o.node.Name)) })
}

// change changes the ledger. If Nodes no longer wait for the fence of another one, it
// requests a pass over each Node that waits.
func (c *Controller) change(change func(*ledger)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.ledger)
	c.metrics.measure(c.ledger)
	blocking, _ := c.ledger.blocking(c.clock.Now())
	if c.blocked && blocking == 0 {
		c.wakeWaiting()
	}
	c.blocked = blocking > 0
}

// prove records that nobody else gives CIDRs.
func (c *Controller) prove(ctx context.Context, o observed) {
	klog.FromContext(ctx).Info("Nobody else gives CIDRs to Nodes", "node", klog.KObj(o.node), "waited", o.now.Sub(since(o)))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others.proven = o.now
	c.metrics.atWork.Set(0)
	c.wakeWaiting()
}

// sight records a sighting. If this sighting is the one that shows that another
// allocator is at work, it also records an event on the Lease.
func (c *Controller) sight(ctx context.Context, s sighting) {
	klog.FromContext(ctx).Info("Another allocator has given a Node its CIDRs", "node", s.node, "podCIDRs", s.cidrs, "manager", s.manager)
	c.mu.Lock()
	before := c.others.atWork()
	c.others = c.others.saw(s)
	begun := c.others.atWork() && !before
	c.mu.Unlock()
	if !begun {
		return
	}
	c.metrics.atWork.Set(1)
	e := isAtWork(s)
	klog.FromContext(ctx).Error(nil, e.Message)
	c.events.Lease(c.lease, e.Type, e.Reason, e.Message)
}

// reserve reserves CIDRs for the Node. If one of the cluster's CIDRs has no free part
// left, reserve returns that CIDR.
func (c *Controller) reserve(o observed) (full netip.Prefix) {
	c.change(func(l *ledger) { full = l.reserve(l.at(o.node.UID, o.node.Name)) })
	return full
}

// warn records an event on the Node.
func (c *Controller) warn(ctx context.Context, node *corev1.Node, e message.Event) {
	klog.FromContext(ctx).V(2).Info("Recorded an event on a Node", "node", klog.KObj(node), "reason", e.Reason, "message", e.Message)
	c.events.Node(node, e.Type, e.Reason, e.Message)
}

// remember stores the memory for the next pass, and updates the metrics of waiting
// Nodes.
func (c *Controller) remember(name string, o observed, p plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.reason == "" {
		delete(c.memories, name)
		c.metrics.waiting.Delete(name)
		return
	}
	c.memories[name] = p.memory
	c.metrics.waiting.Set(name, p.reason, since(o))
}

// wakeWaiting requests a pass over each Node that waits. The caller holds mu.
func (c *Controller) wakeWaiting() {
	for name := range c.memories {
		c.Loop.Add(name)
	}
}

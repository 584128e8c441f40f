package route

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply hands the plan out.
func (c *Controller) apply(ctx context.Context, o observed, p plan) {
	for _, n := range p.notes {
		c.tell(n)
	}
	c.report(ctx, p)
	c.metrics.planned(p)

	c.mu.Lock()
	c.memory.suspects = p.suspects
	for _, cidr := range p.healed {
		delete(c.memory.failures, cidr)
		delete(c.told, cidr)
	}
	for _, next := range p.jobs {
		c.todo[next.cidr] = next
		c.memory.busy[next.cidr] = o.now
	}
	clear(c.verdicts) // A write that is still to be repeated may have become wrong.
	for _, v := range p.verdicts {
		c.verdicts[v.node.Name] = v
	}
	c.mu.Unlock()

	for _, next := range p.jobs {
		c.jobs.Add(next.cidr.String())
	}
	for _, v := range p.verdicts {
		c.conditions.Add(v.node.Name)
	}
}

// change carries the job of one CIDR out. Its failure is no error of the pass:
// the plan says when it is tried again.
func (c *Controller) change(ctx context.Context, key string) (loop.Result, error) {
	cidr := netip.MustParsePrefix(key) // It was made of one.
	c.mu.Lock()
	next, ok := c.todo[cidr]
	delete(c.todo, cidr)
	c.mu.Unlock()
	if !ok {
		return loop.Result{}, nil
	}
	next = c.still(next)
	removed, failed := c.carryOut(ctx, next)
	if err := ctx.Err(); err != nil {
		return loop.Result{}, err
	}
	c.mu.Lock()
	c.memory.done(next, removed, failed, c.clock.Now())
	if failed == nil {
		delete(c.told, cidr)
	}
	c.mu.Unlock()
	if failed != nil && next.create != nil && !failed.doubtful() {
		c.tell(note{next.create.node, cidr, *failed})
	}
	c.plans.AddAfter(table, quiet)
	return loop.Result{}, nil
}

// carryOut makes the calls of a job, up to the first that fails.
func (c *Controller) carryOut(ctx context.Context, next job) (removed []removal, failed *failure) {
	logger := klog.FromContext(ctx).WithValues("cidr", next.cidr)
	fail := func(call operation, err error) *failure {
		f := failureOf(call, err)
		if next.create != nil {
			f.node = next.create.node.UID
		}
		if c.isFirst(next.cidr, f) {
			logger.Error(err, "The cloud has not done it", "call", call)
		}
		return &f
	}
	for _, r := range next.remove {
		began := c.clock.Now()
		err := c.routes.Delete(ctx, r.route.toCloud())
		c.metrics.called(callDelete, c.clock.Since(began), err)
		if err != nil {
			f := fail(callDelete, err)
			f.took = c.clock.Since(began)
			return removed, f
		}
		logger.Info("Deleted a route", "route", r.route.name, "node", r.route.target, "why", r.why)
		removed = append(removed, r)
	}
	if next.create == nil {
		return removed, nil
	}
	began := c.clock.Now()
	err := c.routes.Create(ctx, next.create.hint, next.create.toCloud(next.cidr))
	took := c.clock.Since(began)
	c.metrics.called(callCreate, took, err)
	if err != nil {
		f := fail(callCreate, err)
		f.took = took
		return removed, f
	}
	logger.Info("Created a route", "node", next.create.node.Name, "why", next.create.why)
	if next.create.doubtful {
		return removed, &failure{reason: reasonBlackhole, text: "the route leads nowhere", node: next.create.node.UID, took: took}
	}
	return removed, nil
}

// still is what of a job still has to be done: it may have waited for a while.
// Without the Node that it is for, it is planned anew.
func (c *Controller) still(next job) job {
	live := func(name string) *corev1.Node {
		node, err := c.lister.Get(name)
		if err != nil || node.DeletionTimestamp != nil || !claims(node, next.cidr) {
			return nil
		}
		return node
	}
	if next.create != nil {
		if node := live(next.create.node.Name); node == nil || node.UID != next.create.node.UID {
			return job{cidr: next.cidr}
		}
	}
	next.remove = slices.DeleteFunc(slices.Clone(next.remove), func(r removal) bool { return r.orphan && live(r.route.target) != nil })
	return next
}

// isFirst tells whether a failure is another one than the last.
func (c *Controller) isFirst(cidr netip.Prefix, f failure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.failures[cidr].reason != f.reason
}

// tell records why a Node has no route, once for each reason.
func (c *Controller) tell(n note) {
	c.mu.Lock()
	was, now := c.told[n.cidr], string(n.node.UID)+n.reason
	c.told[n.cidr] = now
	c.mu.Unlock()
	if was != now {
		e := createFailed(n)
		c.events.Node(n.node, e.kind, e.reason, e.message)
	}
}

// report says that so many routes are held that the cloud's answer is doubted,
// when that begins and when it ends.
func (c *Controller) report(ctx context.Context, p plan) {
	c.mu.Lock()
	was := c.crowded
	c.crowded = len(p.crowd) > 0
	c.mu.Unlock()
	switch {
	case len(p.crowd) > 0 && !was:
		first := p.crowd[0]
		klog.FromContext(ctx).Info("Routes that lead to no Node are kept for now", "routes", len(p.crowd), "first", first.route.destination, "why", first.why)
		e := deletionHeld(p.crowd)
		c.events.Lease(c.lease, e.kind, e.reason, e.message)
	case was && len(p.crowd) == 0:
		klog.FromContext(ctx).Info("The routes that lead to no Node are few enough again to be believed")
	}
}

// write writes the condition of one Node, unless the write before has made it
// needless: a pass may have been quicker than that.
func (c *Controller) write(ctx context.Context, name string) (loop.Result, error) {
	c.mu.Lock()
	v, ok := c.verdicts[name]
	if ok && c.memory.shows(v.node.UID, v.condition.Status, c.clock.Now()) {
		delete(c.verdicts, name)
		ok = false
	}
	c.mu.Unlock()
	if !ok {
		return loop.Result{}, nil
	}
	_, err := c.nodes.PatchStatus(ctx, name, kube.NodeStatusPatch{UID: v.node.UID, Condition: &v.condition})
	if err != nil && !apierrors.IsNotFound(err) && !kube.IsStale(err) {
		return loop.Result{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdicts[name] == v {
		delete(c.verdicts, name)
	}
	if err == nil {
		c.memory.shown[v.node.UID] = shown{v.condition.Status, c.clock.Now()}
		klog.FromContext(ctx).V(2).Info("Wrote the condition", "node", name, "networkUnavailable", v.condition.Status)
	}
	return loop.Result{}, nil
}

// failureOf is an error as it is remembered. A creation that has failed is
// told of in the cloud's own words, as upstream has it.
func failureOf(call operation, err error) failure {
	f := failure{reason: string(cloud.KindOf(err)), text: cut(err), pause: cloud.RetryAfter(err)}
	if theirs := errors.Unwrap(err); call == callCreate && theirs != nil {
		f.text = cut(theirs)
	}
	return f
}

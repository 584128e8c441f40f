package route

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries the plan out: it enqueues the jobs and the patches, records the
// events, and updates the metrics.
func (c *Controller) apply(ctx context.Context, p plan) {
	c.enqueue(p)
	for _, e := range p.events {
		c.record(e)
	}
	c.reportHeld(ctx, p)
	c.mu.Lock()
	p.counts.oldestFailure = c.memory.oldestFailure()
	c.mu.Unlock()
	c.cfg.Metrics.show(p.counts)
}

// enqueue hands the jobs and the patches to their workers.
func (c *Controller) enqueue(p plan) {
	c.mu.Lock()
	before := c.queuedPatches
	c.queuedPatches = map[string]conditionPatch{} // A patch that waits for its retry can be out of date.
	var patches []string
	for _, patch := range p.patches {
		name := patch.node.Name
		if queued, ok := before[name]; ok && queued.isLike(patch) {
			c.queuedPatches[name] = queued // It keeps its pause.
			continue
		}
		c.queuedPatches[name] = patch
		patches = append(patches, name)
	}
	c.mu.Unlock()

	for _, next := range p.jobs {
		c.jobs.Add(next.cidr.String())
	}
	for _, name := range patches {
		c.patches.Add(name)
	}
}

// change carries out the job of one CIDR. It returns no error if a call fails, because
// the next plan says when the call is tried again.
func (c *Controller) change(ctx context.Context, key string) (loop.Result, error) {
	cidr := netip.MustParsePrefix(key) // enqueue has made the key from the prefix of a pending job.
	c.mu.Lock()
	next := c.memory.pending[cidr].job
	c.mu.Unlock()
	next = next.recheck(c.node)
	r := c.carryOut(ctx, next)
	if err := ctx.Err(); err != nil {
		return loop.Result{}, err
	}
	if e := r.event(next); e != nil {
		c.record(*e)
	}
	c.mu.Lock()
	c.memory.finish(next, r, c.cfg.Clock.Now())
	c.mu.Unlock()
	c.passes.AddAfter(tableKey, debounce)
	return loop.Result{}, nil
}

// node returns the Node with this name, or nil if there is none.
func (c *Controller) node(name string) *corev1.Node {
	node, err := c.lister.Get(name)
	if err != nil {
		return nil
	}
	return node
}

// carryOut makes the calls of a job. It stops at the first call that fails.
func (c *Controller) carryOut(ctx context.Context, j job) result {
	var r result
	logger := klog.FromContext(ctx).WithValues("cidr", j.cidr)
	call := func(o operation, do func() error) bool {
		began := c.cfg.Clock.Now()
		err := do()
		r.took = c.cfg.Clock.Since(began)
		c.cfg.Metrics.called(o, r.took, err)
		if err == nil {
			return true
		}
		f := failureOf(o, err)
		r.failed = &f
		if c.isNewFailure(j.cidr, f) {
			logger.Error(err, "Route call failed", "call", o)
		}
		return false
	}
	for _, gone := range j.remove {
		if !call(callDelete, func() error { return c.deps.Routes.Delete(ctx, gone.route.toCloud()) }) {
			return r
		}
		logger.Info("Deleted route", "route", gone.route.name, "node", gone.route.target, "why", gone.why)
		r.removed = append(r.removed, gone)
	}
	if j.create == nil {
		return r
	}
	if call(callCreate, func() error { return c.deps.Routes.Create(ctx, j.create.hint, j.create.toCloud(j.cidr)) }) {
		logger.Info("Created route", "node", j.create.node.Name, "why", j.create.why)
	}
	return r
}

// isNewFailure reports whether the failure is new for the CIDR: the last job has
// succeeded, or has failed in another way.
func (c *Controller) isNewFailure(cidr netip.Prefix, f failure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.failures[cidr].kind != f.kind
}

// record records an event, unless the same event was recorded a short time ago.
func (c *Controller) record(e nodeEvent) {
	c.mu.Lock()
	isNew := c.memory.record(e, c.cfg.Clock.Now())
	c.mu.Unlock()
	if !isNew {
		return
	}
	c.deps.Events.Node(e.node, e.event.Type, e.event.Reason, e.event.Message)
	if e.other != nil {
		c.deps.Events.Node(e.other, e.overlap.Type, e.overlap.Reason, e.overlap.Message)
	}
}

// reportHeld reports when the budget begins to keep stray routes, and when it stops.
// It reports each of these changes once.
func (c *Controller) reportHeld(ctx context.Context, p plan) {
	logger, holds := klog.FromContext(ctx), len(p.overBudget) > 0
	c.mu.Lock()
	held := c.holds
	c.holds = holds
	c.mu.Unlock()
	switch {
	case holds && !held:
		first := p.overBudget[0]
		logger.Info("Route deletion held", "routes", len(p.overBudget), "first", first.route.destination, "why", first.why, "until", first.until)
		e := deletionHeld(p.overBudget)
		c.deps.Events.Lease(c.cfg.Lease, e.Type, e.Reason, e.Message)
	case held && !holds:
		logger.Info("Route deletion no longer held")
	}
}

// patch writes the condition of one Node. It writes nothing if the same status and
// reason were written a short time ago, because the pass that queued the patch may have
// begun before that earlier write.
func (c *Controller) patch(ctx context.Context, name string) (loop.Result, error) {
	c.mu.Lock()
	patch, ok := c.queuedPatches[name]
	if ok && !patch.foreign && c.cfg.Clock.Now().Before(c.memory.mayPatch(patch.node.UID, patch.condition.Status, patch.condition.Reason)) {
		delete(c.queuedPatches, name)
		ok = false
	}
	c.mu.Unlock()
	if !ok {
		return loop.Result{}, nil
	}
	write := c.write
	if patch.foreign {
		write = c.reportForeign
	}
	err := write(ctx, patch)
	if err != nil && !apierrors.IsNotFound(err) && !kube.IsStale(err) {
		return loop.Result{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queuedPatches[name] == patch {
		delete(c.queuedPatches, name)
	}
	return loop.Result{}, nil
}

// write writes the condition of a Node.
func (c *Controller) write(ctx context.Context, p conditionPatch) error {
	_, err := c.deps.Nodes.PatchStatus(ctx, p.node.Name, kube.NodeStatusPatch{UID: p.node.UID, Condition: p.condition})
	switch {
	case err == nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.memory.patched[p.node.UID] = patched{p.condition.Status, p.condition.Reason, c.cfg.Clock.Now()}
		klog.FromContext(ctx).V(2).Info("Patched condition", "node", p.node.Name, "networkUnavailable", p.condition.Status, "reason", p.condition.Reason)
	case !apierrors.IsNotFound(err) && !kube.IsStale(err) && ctx.Err() == nil:
		c.record(conditionFailed(p, err))
	}
	return err
}

// reportForeign reports a condition of another writer on the Node. The API server knows
// who has written it. The cache does not.
func (c *Controller) reportForeign(ctx context.Context, p conditionPatch) error {
	node, err := c.deps.Nodes.Live(ctx, p.node.Name)
	if err != nil {
		return err
	}
	manager := showing.Managers(node, `"NetworkUnavailable\"`)
	klog.FromContext(ctx).Info("Another writer's condition keeps pods away", "node", p.node.Name, "reason", message.Value(p.condition.Reason), "manager", manager)
	e := foreign(*p.condition, manager)
	c.deps.Events.Node(p.node, e.Type, e.Reason, e.Message)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.foreign[p.node.UID] = foreignCondition{p.condition.Reason, p.condition.LastTransitionTime.Time}
	return nil
}

package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// apply carries out one action and reports whether another action may follow. An action
// first writes the state, then records events, then stores the memory. So after a
// crash, the next process repeats what was lost. The event that announces a call is
// recorded before the call.
func (c *Controller) apply(ctx context.Context, key string, o observed, p plan) (again bool, err error) {
	logger := klog.FromContext(ctx).WithValues("service", key)
	switch p.do {
	case doNothing:
		logger.V(4).Info("Left the load balancer as it is", "why", p.why)
		c.store.remember(key, p.memory)
		return false, nil
	case forget:
		c.store.forget(key, o.service != nil)
		return o.service != nil && o.memory.uid != "", nil
	case wait:
		return false, c.showWaiting(ctx, key, o, p)
	case addFinalizer, publish, release:
		if err := c.mustPatch(ctx, key, o, p); err != nil {
			return false, err
		}
		c.record(o.service, p.writes.events)
		if p.do == release {
			logger.Info("Released the Service", "why", p.why)
			c.store.forget(key, true)
			return false, nil
		}
		logger.V(2).Info("Wrote the status", "why", p.why)
		c.store.remember(key, p.memory)
		return true, nil
	case update, ensure, remove, find:
		p, err := c.complete(ctx, key, p)
		if err != nil {
			return false, err
		}
		if p.do == update {
			return true, c.update(ctx, key, p)
		}
		c.record(p.service, p.writes.events)
		return true, c.call(ctx, key, p)
	}
	return false, nil
}

// showWaiting shows on a Service why the Service waits. It records the events even if
// the API server refuses the patch, because then the owner sees only the events. A
// rejected patch is repeated only after showing.PutBackAfter, because no call depends on it.
func (c *Controller) showWaiting(ctx context.Context, key string, o observed, p plan) error {
	err := c.patch(ctx, o.service, p.writes)
	p.memory.unwritten = err != nil
	c.record(o.subject(), p.writes.events)
	if kube.IsRejected(err) {
		klog.FromContext(ctx).Info("Conditions of a Service rejected", "service", key, "err", err)
		err = nil
	}
	if err != nil { // The next pass writes the conditions.
		p.memory.written, p.memory.writtenAt = o.memory.written, o.memory.writtenAt
	}
	c.store.remember(key, p.memory)
	return err
}

// mustPatch makes a patch on which the next action depends. If the patch fails, an
// event tells the owner, unless the Service is gone or was replaced.
func (c *Controller) mustPatch(ctx context.Context, key string, o observed, p plan) error {
	err := c.patch(ctx, o.service, p.writes)
	if err == nil || apierrors.IsNotFound(err) || kube.IsStale(err) || ctx.Err() != nil {
		return err
	}
	e, m := writeFailedEvent(p.do, err), o.memory
	if p.writes.ingress == nil { // The address that the Service shows is accepted, whatever becomes of the conditions.
		m.status, m.published = p.memory.status, p.memory.published
	}
	m.uid = o.service.UID
	if p.writes.class != nil && kube.IsRejected(err) {
		m.namedAt = o.now // The annotation is tried again only after showing.PutBackAfter, so no call waits for it.
	}
	if reason := e.Reason + " " + string(p.do); m.recorded.IsNew(reason, o.now) {
		m.recorded = m.recorded.With(reason, o.now)
		c.record(o.service, []message.Event{e})
	}
	c.store.remember(key, m)
	return err
}

func (c *Controller) patch(ctx context.Context, service *corev1.Service, w writes) error {
	if !w.patches() {
		return nil
	}
	p := kube.ServicePatch{UID: service.UID, Ingress: w.ingress, Conditions: w.conditions, DropConditions: w.drop}
	if w.class != nil {
		p.Annotation, p.Value = AnnotationClass, *w.class
	}
	if w.finalizer {
		p.AddFinalizer = Finalizer
	}
	if w.release {
		p.RemoveFinalizer = Finalizer
	}
	_, err := c.deps.Services.PatchStatus(ctx, service.Namespace, service.Name, p)
	return err
}

func (c *Controller) record(service *corev1.Service, events []message.Event) {
	for _, e := range events {
		if service != nil {
			c.deps.Events.Service(service, e.Type, e.Reason, e.Message)
		}
	}
}

// call makes the call of a plan. It records events about the outcome, and stores the
// outcome in the memory. A failed call is not an error of the pass, because the
// Service shows the failure.
func (c *Controller) call(ctx context.Context, key string, p plan) error {
	stop := c.reportSlowCall(ctx, p)
	began := c.clock.Now()
	r, err := c.carryOut(ctx, p)
	took := c.clock.Since(began)
	shown := stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.conclude(ctx, key, p, called{r, err, took, shown})
	return nil
}

// complete reads the Service from the API server if the cache has only a part of it,
// because the provider must get all fields, and before each removal: the cache may show
// an old view, and a provider that finds load balancers by name would remove the one of
// a newer Service. If the plan for the Service that was read is another one, complete
// returns an error that kube.IsStale recognises. Then the informer will report the
// change.
func (c *Controller) complete(ctx context.Context, key string, p plan) (plan, error) {
	if p.orphaned || isWhole(p.service) && p.do != remove {
		return p, nil
	}
	live, err := c.deps.Services.Live(ctx, p.service)
	if err != nil {
		return p, err
	}
	o, err := c.observe(key)
	if err != nil {
		return p, err
	}
	o.service = kube.TrimService(live, c.policy.IsServed)
	if now := decide(o); now.do != p.do {
		return p, apierrors.NewConflict(corev1.Resource("services"), live.Name, fmt.Errorf("the next action was %q, and is %q now", p.do, now.do))
	}
	live.Status.LoadBalancer = p.service.Status.LoadBalancer // See withLastStatus.
	p.whole = live
	return p, nil
}

// called is a finished call to the provider for one Service.
type called struct {
	outcome

	err   error
	took  time.Duration
	shown []metav1.Condition // the conditions that were written during the call
}

// conclude records events about the outcome of a call, and stores the outcome in the
// memory.
func (c *Controller) conclude(ctx context.Context, key string, p plan, call called) {
	r := call.outcome
	m, events := conclude(p, r)
	m = m.withConditions(call.shown, c.clock.Now())
	c.metrics.observeCall(p.do, call, c.clock.Since(r.nodes.made))
	c.record(p.service, events)
	c.store.noteProvider(p, r, m)
	c.store.remember(key, m)
	logger := klog.FromContext(ctx).WithValues("service", key, "call", p.do, "why", p.why, "took", call.took)
	if cloud.HeldFor(call.err) > 0 || cloud.WasNotMade(call.err) {
		logger.V(4).Info("Load balancer call has to wait", "err", call.err)
		return
	}
	if r.result == failed {
		logger.Info("Load balancer call failed", "err", printable.Cut(call.err.Error(), message.MaxErrorBytes)) // It may quote what a tenant has written, each time.
		return
	}
	logger.Info("Load balancer call succeeded")
}

// carryOut calls the provider and returns the outcome.
func (c *Controller) carryOut(ctx context.Context, p plan) (r outcome, err error) {
	if p.fresh && c.backends.remakeEarly() {
		c.metrics.observeSet(c.backends.newest())
	}
	nodes := c.backends.refreshed()
	if p.do == ensure || p.do == update {
		nodes = c.backends.of(p.service).set
	}
	var status *corev1.LoadBalancerStatus
	var exists bool
	switch p.do {
	case ensure:
		status, err = c.deps.Balancers.Ensure(ctx, p.given(), nodes.nodes)
	case update:
		err = c.deps.Balancers.Update(ctx, p.given(), nodes.nodes)
	case remove:
		err = c.deps.Balancers.Delete(ctx, p.given())
	case find:
		exists, err = c.deps.Balancers.Find(ctx, p.given())
	case doNothing, forget, addFinalizer, publish, release, wait:
	}
	r = outcomeOf(p.do, nodes, err, c.clock.Now())
	r.status, r.exists = status, exists
	return r, err
}

// outcomeOf returns the outcome of a finished call. nodes is the set that the
// provider got.
func outcomeOf(do action, nodes nodeSet, err error, at time.Time) outcome {
	r := outcome{nodes: nodes, at: at}
	switch cloud.KindOf(err) { //nolint:exhaustive // all other kinds are failures
	case cloud.Succeeded:
		r.result = succeeded
		return r
	case cloud.Elsewhere:
		r.result = elsewhere
		return r
	}
	theirs := err // Upstream's events have the provider's error alone.
	if ours, ok := errors.AsType[*cloud.Error](err); ok && ours.Err != nil {
		theirs = ours.Err
	}
	r.result, r.cause, r.text, r.pause, r.lasts = failed, causeOf(err), message.Cut(theirs), cloud.RetryAfter(err), lasts(err)
	if r.unmade = cloud.WasNotMade(err); do == update {
		r.text = limitedNames(r.nodes.names(), theirs)
	}
	return r
}

// lasts reports whether a call has failed for a reason that does not end by itself, and
// whether the provider has answered. All other failures may leave something half-made.
func lasts(err error) bool {
	switch cloud.KindOf(err) { //nolint:exhaustive // all other kinds may end by themselves
	case cloud.Failed, cloud.NotFound, cloud.NotImplemented, cloud.Invalid, cloud.QuotaExceeded:
		return cloud.HeldFor(err) == 0
	}
	return false
}

// reportSlowCall shows on the Service that a call takes long, unless the call is a
// removal or a question. The caller must call stop at the end of the call. stop returns the
// conditions that reportSlowCall has written.
func (c *Controller) reportSlowCall(ctx context.Context, p plan) (stop func() []metav1.Condition) {
	ended := make(chan struct{})
	var written []metav1.Condition // read only after the goroutine has returned
	var reporting sync.WaitGroup
	reporting.Go(func() {
		for after := slowCallAfter; after > 0 && p.do != remove && p.do != find; {
			timer := c.clock.NewTimer(after)
			select {
			case <-ended:
				timer.Stop()
				return
			case <-timer.C():
			}
			var conditions []metav1.Condition
			conditions, after = outdated(observed{service: p.service, now: c.clock.Now(), memory: p.memory}, provisioning(inProgressCause()))
			if err := c.patch(ctx, p.service, writes{conditions: conditions}); err != nil {
				klog.FromContext(ctx).V(2).Info("Condition of a slow load balancer call not written", "service", klog.KObj(p.service), "err", err)
				return
			}
			written = conditions
		}
	})
	return func() []metav1.Condition {
		close(ended)
		reporting.Wait()
		return written
	}
}

// reportQueued tells owners that their Services wait behind other Services.
func (c *Controller) reportQueued(ctx context.Context) {
	ticker := c.clock.NewTicker(queuedAfter / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		since := map[string]time.Time{}
		if busy := c.Loop.Busy(); len(busy) > 0 {
			since = c.queuedBehind(busy[0])
		}
		c.store.noteQueued(since)
	}
}

// queuedBehind returns the Services that wait for a worker, with the times at which
// their waits began. It tells each owner once, with an event.
func (c *Controller) queuedBehind(busy string) map[string]time.Time {
	since := map[string]time.Time{}
	for _, waiting := range c.Loop.Waiting(queuedAfter) {
		o, err := c.observe(waiting.Key)
		if err != nil || !decide(o).isForOwner() {
			continue
		}
		if !c.store.isQueued(waiting.Key) {
			c.record(o.subject(), []message.Event{queuedEvent(waiting.Key, busy)})
		}
		since[waiting.Key] = waiting.Since
	}
	return since
}

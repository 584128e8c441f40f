package service

import (
	"context"
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
)

// call makes the call of a plan. It records events about the outcome, and stores the
// outcome in the memory. A failed call is not an error of the pass, because the
// Service shows the failure.
func (c *Controller) call(ctx context.Context, key string, p plan) error {
	stop := c.reportSlowCall(ctx, p)
	c.prepareNext(ctx)
	began := c.clock.Now()
	r, err := c.carryOut(ctx, p)
	took := c.clock.Since(began)
	c.short.Store(took < shortCall)
	shown := stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.conclude(ctx, key, p, called{r, err, took, shown})
	return nil
}

// complete reads the Service from the API server if the cache has only a part of it,
// because the provider must get all fields. If the plan for the Service that was read
// is another one, complete returns an error that kube.IsStale recognises. Then the
// informer will report the change.
func (c *Controller) complete(ctx context.Context, key string, p plan) (plan, error) {
	if p.orphaned || isWhole(p.service) {
		return p, nil
	}
	live, err := c.services.Live(ctx, p.service)
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

// prepareNext writes the finalizer of the Service that gets a worker next. It does so
// while a call about another Service is under way, so that the next call waits less for
// the API server. This matters if there are few workers. prepareNext does this only
// after a short call. After a long call, the gain would be small, because a write takes
// hardly any time compared with a long call. But the cost would be the same, because
// the deletion of a Service with a finalizer has to wait for a worker and a call. A
// Service whose last pass has failed is not prepared, because its passes have delays.
func (c *Controller) prepareNext(ctx context.Context) {
	key, waits := c.loop.Next()
	if !waits || !c.short.Load() || !c.claims.prepare(key) {
		return
	}
	c.preparing.Go(func() {
		defer c.claims.release(key)
		o, err := c.observe(key)
		p := decide(o)
		if err != nil || p.do != addFinalizer {
			return
		}
		if err := c.write(ctx, key, o, p); err != nil {
			return // The Service's own pass repeats the write.
		}
		c.store.rememberPrepared(key, p.memory)
	})
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
	c.metrics.observeCall(measuredCall{p.do, r.result, call.err, call.took, c.clock.Since(r.nodes.made)})
	c.record(p.service, events)
	c.store.noteProvider(p, r, m)
	c.store.noteTried(key, p, r.at)
	c.store.remember(key, m)
	logger := klog.FromContext(ctx).WithValues("service", key, "call", p.do, "why", p.why, "took", call.took)
	if cloud.HeldFor(call.err) > 0 {
		logger.V(4).Info("Load balancer call has to wait because the cloud is down", "err", call.err)
		return
	}
	if r.result == failed {
		logger.Info("Load balancer call failed", "err", call.err)
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
	var status *corev1.LoadBalancerStatus
	switch p.do {
	case ensure:
		status, err = c.balancers.Ensure(ctx, p.given(), nodes.nodes)
	case update:
		err = c.balancers.Update(ctx, p.given(), nodes.nodes)
	case remove:
		err = c.balancers.Delete(ctx, p.given())
	case doNothing, forget, addFinalizer, publish, release, wait:
	}
	r = outcomeOf(p.do, nodes, err, c.clock.Now())
	r.status = status
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
	r.result, r.cause, r.text, r.pause = failed, causeOf(err), message.Cut(err), cloud.RetryAfter(err)
	if do == update {
		r.text = limitedNames(r.nodes.names(), err)
	}
	return r
}

// reportSlowCall shows on the Service that a call takes long, unless the call is a
// removal. The caller must call stop at the end of the call. stop returns the
// conditions that reportSlowCall has written.
func (c *Controller) reportSlowCall(ctx context.Context, p plan) (stop func() []metav1.Condition) {
	ended := make(chan struct{})
	var written []metav1.Condition // read only after the goroutine has returned
	var reporting sync.WaitGroup
	reporting.Go(func() {
		for after := slowCallAfter; after > 0 && p.do != remove; {
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

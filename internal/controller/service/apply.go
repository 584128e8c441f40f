package service

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// writes are what a plan says to the API server: events, then one patch.
type writes struct {
	events     []event
	finalizer  bool // is added
	release    bool // the finalizer goes
	ingress    *[]corev1.LoadBalancerIngress
	conditions []metav1.Condition
	drop       []string // types of conditions that go
}

func (w writes) isEmpty() bool {
	return !w.finalizer && !w.release && w.ingress == nil && len(w.conditions)+len(w.drop) == 0
}

// apply carries one step out and says whether there may be another.
func (c *Controller) apply(ctx context.Context, key string, o observed, p plan) (again bool, err error) {
	logger := klog.FromContext(ctx).WithValues("service", key)
	switch p.do {
	case nothing:
		logger.V(4).Info("Left the load balancer as it is", "why", p.why)
		c.remember(key, p.memory)
		return false, nil
	case forget:
		c.forget(key)
		return o.service != nil && o.memory.uid != "", nil
	case wait:
		c.record(o.about(), p.writes.events)
		err := c.patch(ctx, o.service, p.writes)
		if err != nil { // What was not written is written the next time.
			p.memory.stated, p.memory.worded = o.memory.stated, o.memory.worded
		}
		c.remember(key, p.memory)
		return false, err
	case addFinalizer, publish:
		p.writes.finalizer = p.do == addFinalizer
		if err := c.write(ctx, key, o, p); err != nil {
			return false, err
		}
		logger.V(2).Info("Wrote the status", "why", p.why)
		c.record(o.service, p.writes.events)
		c.remember(key, p.memory)
		return true, nil
	case release:
		if err := c.write(ctx, key, o, p); err != nil {
			return false, err
		}
		logger.Info("Released the Service", "why", p.why)
		c.forget(key)
		return false, nil
	case ensure, update, remove:
		c.record(o.about(), p.writes.events)
		return true, c.call(ctx, key, p)
	}
	return false, nil
}

// write is a patch that the Service cannot go on without. If the API server will
// not take it, the owner is told.
func (c *Controller) write(ctx context.Context, key string, o observed, p plan) error {
	err := c.patch(ctx, o.service, p.writes)
	if !kube.IsRejected(err) {
		return err
	}
	m := o.memory
	m.uid = o.service.UID
	if e := writeFailed(p.do, err); m.isNews(e.reason+p.do.String(), o.now) {
		m.told = notice{e.reason + p.do.String(), o.now}
		c.record(o.service, []event{e})
	}
	c.remember(key, m)
	return err
}

// call makes the call of a plan and remembers what came of it. Its failure is
// no error of the pass: the Service says why it waits.
func (c *Controller) call(ctx context.Context, key string, p plan) error {
	logger := klog.FromContext(ctx).WithValues("service", key, "call", p.do)
	done := c.tellIfSlow(ctx, p)
	began := c.clock.Now()
	nodes := c.backends.renewed()
	m, news, err := c.carryOut(ctx, p, nodes)
	took := c.clock.Since(began)
	m = m.stating(done(), c.clock.Now())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.metrics.called(p.do, took, c.clock.Since(nodes.made), err)
	if m.elsewhere || p.do == ensure && err == nil {
		c.elsewhere.Store(m.elsewhere)
	}
	c.remember(key, m)
	c.record(p.service, news)
	if err != nil {
		logger.Info("The cloud has not done it", "why", p.why, "took", took, "err", err)
		return nil
	}
	logger.Info("The cloud has done it", "why", p.why, "took", took)
	return nil
}

// carryOut calls the provider and returns the memory and the events that follow.
func (c *Controller) carryOut(ctx context.Context, p plan, nodes set) (memory, []event, error) {
	m := p.memory
	m.service, m.deleted = p.service, p.do == remove
	switch p.do {
	case ensure:
		status, err := c.balancers.Ensure(ctx, p.service, nodes.nodes)
		return m.ensured(c.clock.Now(), p, nodes, status, err)
	case update:
		return m.updated(c.clock.Now(), p, nodes, c.balancers.Update(ctx, p.service, nodes.nodes))
	case remove:
		return m.removed(c.clock.Now(), p, c.balancers.Delete(ctx, p.service))
	case nothing, forget, addFinalizer, publish, release, wait:
	}
	return m, nil, nil
}

// ensured is what is known after Ensure.
func (m memory) ensured(now time.Time, p plan, nodes set, status *corev1.LoadBalancerStatus, err error) (memory, []event, error) {
	switch cloud.KindOf(err) { //nolint:exhaustive // all other kinds are failures
	case cloud.Succeeded:
		var news []event
		if !p.quiet {
			news = append(news, ensured())
		}
		if known := p.quiet && m.backends == ""; len(nodes.nodes) == 0 && m.backends != nodes.id && !known {
			news = append(news, unavailable())
		}
		if m.status != nil && !isEqual(*m.status, *status) {
			m.published = false // The provider has changed it, and nobody else.
		}
		m.status, m.wanted, m.backends, m.ensuredAt = status, shapeOf(p.service), nodes.id, now
		m.elsewhere, m.doubt, m.failure, m.told = false, false, failure{}, notice{}
		return m, news, nil
	case cloud.Elsewhere:
		m.elsewhere, m.wanted, m.doubt, m.failure, m.told = true, shapeOf(p.service), false, failure{}, notice{}
		return m, nil, nil
	default:
		return m.failed(now, ensure, p.service, refusalOf(err, cut(err)), cloud.RetryAfter(err)), nil, err
	}
}

// updated is what is known after Update. One that failed makes the whole load
// balancer be ensured, as upstream has it: it may not exist any more.
func (m memory) updated(now time.Time, p plan, nodes set, err error) (memory, []event, error) {
	switch cloud.KindOf(err) { //nolint:exhaustive // all other kinds are failures
	case cloud.Succeeded:
		m.backends, m.failure, m.told = nodes.id, failure{}, notice{}
		if len(nodes.nodes) == 0 {
			return m, []event{unavailable()}, nil
		}
		return m, []event{updated()}, nil
	case cloud.Elsewhere:
		m.backends = nodes.id
		return m, nil, nil
	default:
		m = m.failed(now, update, p.service, refusalOf(err, hostsOf(names(nodes.nodes), err)), cloud.RetryAfter(err))
		m.failure.during, m.announced = ensure, shapeOf(p.service)
		m.told = notice{m.failure.reason, now} // by the event below
		return m, []event{callFailed(failure{refusal: m.failure.refusal, during: update})}, err
	}
}

// removed is what is known after Delete.
func (m memory) removed(now time.Time, p plan, err error) (memory, []event, error) {
	switch cloud.KindOf(err) { //nolint:exhaustive // all other kinds are failures
	case cloud.Succeeded, cloud.Elsewhere:
		m.failure, m.told, m.wanted, m.status, m.published, m.doubt = failure{}, notice{}, "", nil, false, false
		return m, []event{deleted()}, nil
	default:
		m.deleted = false
		return m.failed(now, remove, p.service, refusalOf(err, cut(err)), cloud.RetryAfter(err)), nil, err
	}
}

func names(nodes []*corev1.Node) []string {
	all := make([]string, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// slow is how long a call may take before the Service says so.
const slow = 30 * time.Second

// tellIfSlow writes on the Service that a call takes long. The returned function
// is to be called when it has returned, and tells what was written.
func (c *Controller) tellIfSlow(ctx context.Context, p plan) (done func() []metav1.Condition) {
	stop := make(chan struct{})
	var written []metav1.Condition // read once telling has ended
	var telling sync.WaitGroup
	telling.Go(func() {
		timer := c.clock.NewTimer(slow)
		defer timer.Stop()
		select {
		case <-stop:
			return
		case <-timer.C():
		}
		conditions, _ := outdated(observed{service: p.service, now: c.clock.Now(), memory: p.memory}, provisioning(refusalOfSlowness()))
		w := writes{conditions: conditions}
		if p.do != remove && !w.isEmpty() {
			if err := c.patch(ctx, p.service, w); err != nil {
				klog.FromContext(ctx).V(2).Info("Could not say that the call takes long", "service", klog.KObj(p.service), "err", err)
				return
			}
			written = conditions
		}
	})
	return func() []metav1.Condition {
		close(stop)
		telling.Wait()
		return written
	}
}

func (c *Controller) record(service *corev1.Service, events []event) {
	for _, e := range events {
		if service != nil {
			c.events.Service(service, e.kind, e.reason, e.message)
		}
	}
}

func (c *Controller) patch(ctx context.Context, service *corev1.Service, w writes) error {
	if w.isEmpty() {
		return nil
	}
	p := kube.ServicePatch{UID: service.UID, Ingress: w.ingress, Conditions: w.conditions, DropConditions: w.drop}
	if w.finalizer {
		p.AddFinalizer = Finalizer
	}
	if w.release {
		p.RemoveFinalizer = Finalizer
	}
	_, err := c.services.PatchStatus(ctx, service.Namespace, service.Name, p)
	return err
}

func (c *Controller) remember(key string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.queued, key)
	if m.uid == "" && m.service == nil {
		delete(c.memories, key)
		return
	}
	c.memories[key] = m
}

func (c *Controller) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, key)
	delete(c.spreads, key)
	delete(c.queued, key)
}

// longWait is how long a Service waits behind another before its owner is told.
const longWait = time.Minute

// tellWhoWaits tells the owners of Services that wait behind others.
func (c *Controller) tellWhoWaits(ctx context.Context) {
	ticker := c.clock.NewTicker(longWait / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		if busy := c.loop.Busy(); len(busy) > 0 {
			c.tellThatTheyWait(c.loop.Waiting(longWait), busy[0])
			continue
		}
		c.tellThatTheyWait(nil, "") // Nobody does.
	}
}

// tellThatTheyWait tells each owner once. Nobody waits for what is done in
// silence, such as a comparison with the cloud after a restart.
func (c *Controller) tellThatTheyWait(keys []string, behind string) {
	still := map[string]time.Time{}
	for _, key := range keys {
		o, err := c.observe(key)
		if err != nil {
			continue
		}
		p := decide(o)
		if p.quiet || p.do == nothing || p.do == forget || p.do == wait {
			continue
		}
		c.mu.Lock()
		since, told := c.queued[key]
		c.mu.Unlock()
		if !told {
			since = o.now.Add(-longWait)
			c.record(o.about(), []event{queued(behind)})
		}
		still[key] = since
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued = still
}

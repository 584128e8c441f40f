package service

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/kube"
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
		c.store.forget(key)
		if o.service == nil {
			c.store.forgetTried(key)
		}
		return o.service != nil && o.memory.uid != "", nil
	case wait:
		return false, c.showWaiting(ctx, key, o, p)
	case addFinalizer, publish:
		if err := c.write(ctx, key, o, p); err != nil {
			return false, err
		}
		c.store.remember(key, p.memory)
		return true, nil
	case release:
		if err := c.mustPatch(ctx, key, o, p); err != nil {
			return false, err
		}
		logger.Info("Released the Service", "why", p.why)
		c.store.forget(key)
		return false, nil
	case update, ensure, remove:
		p, err := c.complete(ctx, key, p)
		if err != nil {
			return false, err
		}
		if p.do == update {
			return true, c.update(ctx, key, p)
		}
		c.record(o.subject(), p.writes.events)
		return true, c.call(ctx, key, p)
	}
	return false, nil
}

// write makes the patch of a plan that adds the finalizer or publishes the status, and
// records its events.
func (c *Controller) write(ctx context.Context, key string, o observed, p plan) error {
	p.writes.finalizer = p.do == addFinalizer
	if err := c.mustPatch(ctx, key, o, p); err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Wrote the status", "service", key, "why", p.why)
	c.record(o.service, p.writes.events)
	return nil
}

// showWaiting shows on a Service why the Service waits. It records the events even if
// the API server refuses the patch, because then the owner sees only the events. A
// rejected patch is repeated only after repairPause, because no call depends on it.
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
	c.store.noteShown(key, p.tried)
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
	m.uid, m.namedAt = o.service.UID, p.memory.namedAt // A refused annotation is tried again only after repairPause, so no call waits for it.
	if reason := e.Reason + " " + string(p.do); m.recorded.isNews(reason, o.now) {
		m.recorded = recordedReason{reason, o.now}
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
	_, err := c.services.PatchStatus(ctx, service.Namespace, service.Name, p)
	return err
}

func (c *Controller) record(service *corev1.Service, events []message.Event) {
	for _, e := range events {
		if service != nil {
			c.events.Service(service, e.Type, e.Reason, e.Message)
		}
	}
}

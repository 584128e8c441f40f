package service

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Keys returns the keys of two kinds of Services: those of type LoadBalancer, and those
// for which this controller might have something to do.
func (c *Controller) Keys() []string {
	all, err := c.deps.Informer.Lister().List(labels.Everything())
	if err != nil { // Listing a cache returns no error.
		return nil
	}
	var keys []string
	for _, service := range all {
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer || c.policy.concerns(service) {
			keys = append(keys, keyOf(service))
		}
	}
	return keys
}

// Plan returns the steps that the controller would take for a Service. The steps end at
// the first call whose result decides what follows. Plan makes no call and writes
// nothing.
func (c *Controller) Plan(_ context.Context, key string) ([]step.Step, error) {
	c.backends.remake()
	o, err := c.observe(key)
	if err != nil {
		return nil, err
	}
	if o.service == nil {
		if decide(o).do == forget { // Otherwise its load balancer still has to be deleted.
			c.store.forget(key, false)
		}
		return nil, nil
	}
	s := step.Step{Object: "service/" + key}
	for range maxActions {
		p := decide(o)
		p.addTo(&s, o)
		switch p.do {
		case addFinalizer:
			o.service, o.memory = p.written(o.service), p.memory
		case remove: // The steps after a successful removal do not depend on the provider.
			m, events := conclude(p, outcome{result: succeeded, at: o.now, nodes: c.backends.newest()})
			s.Writes, o.memory = append(s.Writes, step.Events(events)...), m
		case doNothing, forget, publish, ensure, update, find, release, wait:
			return []step.Step{s}, nil
		}
	}
	return []step.Step{s}, nil
}

// written returns a copy of the Service with the finalizer that the plan writes, and with
// the annotation.
func (p plan) written(service *corev1.Service) *corev1.Service {
	now := service.DeepCopy()
	now.Finalizers = append(now.Finalizers, Finalizer)
	if p.writes.class != nil {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, AnnotationClass, *p.writes.class)
	}
	return now
}

// addTo adds the plan to the step that a dry run shows. Several plans can be added to
// one step. The step then has the action of the first plan that deletes something. If
// no plan does, it has the action of the last plan that does anything.
func (p plan) addTo(s *step.Step, o observed) {
	s.Writes = append(s.Writes, p.writes.list(o.service.Annotations)...)
	if call := p.call(o); call != "" {
		s.Calls = append(s.Calls, call)
	}
	effect := p.effect(o)
	if s.Do != "" && (effect == step.None || s.Effect == step.Delete) {
		return
	}
	s.Do, s.Why, s.Effect, s.After = string(p.do), p.why, effect, p.after
	if p.do == wait {
		s.Reason = o.memory.failure.cause.Reason
	}
}

func (p plan) effect(o observed) step.Effect {
	switch p.do {
	case ensure:
		if len(o.service.Status.LoadBalancer.Ingress) == 0 {
			return step.Create
		}
		return step.Update
	case addFinalizer, update, publish:
		return step.Update
	case remove, release:
		return step.Delete
	case wait:
		return step.Wait
	case doNothing, forget, find:
	}
	return step.None
}

// call returns the call to the provider that the plan makes, or an empty string if it
// makes none.
func (p plan) call(o observed) string {
	switch p.do {
	case ensure:
		return "EnsureLoadBalancer with " + o.nodes()
	case update:
		return "UpdateLoadBalancer with " + o.nodes()
	case remove:
		return "EnsureLoadBalancerDeleted"
	case find:
		return "GetLoadBalancer"
	case doNothing, forget, addFinalizer, publish, release, wait:
	}
	return ""
}

// nodes says how many nodes the provider gets, and how many it could get.
func (o observed) nodes() string {
	if o.hosts < o.usable {
		return fmt.Sprintf("%d of %d nodes", o.hosts, o.usable)
	}
	return fmt.Sprintf("%d nodes", o.hosts)
}

// list describes the writes to the Service. The map now has the present annotations of
// the Service.
func (w writes) list(now map[string]string) []string {
	var all []string
	switch {
	case w.finalizer:
		all = append(all, "finalizer "+Finalizer+" added")
	case w.release:
		all = append(all, "finalizer "+Finalizer+" removed")
	}
	if w.class != nil {
		class := w.class
		if *class == "" {
			class = nil
		}
		all = append(all, step.Entries("annotation", now, map[string]*string{AnnotationClass: class})...)
	}
	if w.ingress != nil {
		all = append(all, fmt.Sprintf("%d addresses", len(*w.ingress)))
	}
	for _, c := range w.conditions {
		all = append(all, step.Condition(c.Type, c.Status, c.Reason))
	}
	for _, kind := range w.drop {
		all = append(all, "condition "+kind+" removed")
	}
	return append(all, step.Events(w.events)...)
}

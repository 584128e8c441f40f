package nodelifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// observe gathers what is known without I/O.
func (l *Controller) observe(node *corev1.Node) candidate {
	c := candidate{now: l.clock.Now(), node: node, limits: l.limits}
	l.mu.Lock()
	c.memory = l.memories[node.Name]
	l.mu.Unlock()
	if c.needsRoster() {
		c.roster = l.rosterFor(node)
	}
	return c
}

// rosterFor is what is known of all Nodes, for the decision about this one.
func (l *Controller) rosterFor(node *corev1.Node) roster {
	all, err := l.lister.List(labels.Everything())
	if err != nil { // The cache has no errors of its own.
		return roster{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted = slices.DeleteFunc(l.deleted, func(at time.Time) bool { return l.clock.Since(at) >= time.Minute })
	r := roster{
		members:   make([]member, 0, len(all)),
		confirmed: maps.Clone(l.confirmed),
		deleted:   slices.Clone(l.deleted),
	}
	for _, n := range all {
		e := l.memories[n.Name].evidence.about(n)
		r.members = append(r.members, member{
			node:     n,
			said:     e.said,
			looked:   !e.lookedAt.IsZero(),
			sighting: l.sightings[subject{n.UID, node.Spec.ProviderID == ""}],
		})
	}
	return r
}

// ask asks the cloud whether the instance of a Node exists, and if so whether
// it runs. The only error is the end of the context.
func (l *Controller) ask(ctx context.Context, node *corev1.Node) (existence, error) {
	sighting, err := l.instances.Existence(ctx, node)
	if ctx.Err() != nil {
		return existence{}, ctx.Err()
	}
	l.metrics.called(callExists, err)
	a := existenceOf(sighting, err, l.clock.Now())
	l.sighted(node, a)
	if a.presence == present {
		down, err := l.instances.Shutdown(ctx, node)
		if ctx.Err() != nil {
			return existence{}, ctx.Err()
		}
		l.metrics.called(callShutdown, err)
		a.power = powerOf(ctx, down, err)
	}
	return a, nil
}

func existenceOf(s cloud.Existence, err error, now time.Time) existence {
	switch {
	case err != nil:
		return existence{asked: now, failure: nodecause.OfExistence(err)}
	case s.Present:
		return existence{presence: present, asked: s.Asked}
	default:
		return existence{presence: absent, asked: s.Asked}
	}
}

func powerOf(ctx context.Context, down bool, err error) power {
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Whether the instance is shut down is not known", "err", err)
		return unknownPower
	case down:
		return shutDown
	default:
		return running
	}
}

// sighted remembers what the cloud has said of a Node for the decisions about
// others.
func (l *Controller) sighted(node *corev1.Node, a existence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := subject{node.UID, node.Spec.ProviderID == ""}
	l.sightings[s] = l.sightings[s].with(a, l.clock.Now())
	if a.presence == present {
		l.confirmed[nodefact.Scheme(node)] = true
	}
}

// apply carries a plan out that is not part of the last look.
func (l *Controller) apply(ctx context.Context, c candidate, p removalPlan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("node", c.node.Name)
	l.remember(c.node.Name, p.memory)
	l.record(c.node, p.events)
	if err := l.patch(ctx, c.node, p); err != nil {
		if kube.IsStale(err) || apierrors.IsNotFound(err) {
			return loop.Result{Retry: true}, nil // The next look sees the Node as it is now.
		}
		return loop.Result{}, err
	}
	if p.taints != nil {
		logger.Info("Changed the shutdown taint", "why", p.why)
	}
	switch p.do {
	case leave, askExistence, askWitness, remove:
		logger.V(4).Info("Left the node as it is", "why", p.why)
	case hold:
		if len(p.events) > 0 {
			logger.Info("Node deletion is held", "why", p.why)
		}
	case lookLast:
		l.hand(c.node.Name)
	}
	return loop.Result{After: p.after}, nil
}

// lookLast is the serial step that makes all deletions.
func (l *Controller) lookLast(ctx context.Context, name string) (loop.Result, error) {
	err := l.tryDelete(ctx, name)
	l.handBack(name)
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Last look failed", "node", name)
	}
	l.looks.Add(name) // Whoever has come meanwhile was turned away.
	return loop.Result{}, nil
}

// tryDelete reads the Node anew, asks the cloud once more, hears the witnesses
// and deletes.
func (l *Controller) tryDelete(ctx context.Context, name string) error {
	defer l.postpone(name)
	node, err := l.nodes.Live(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return errors.Join(err, l.cannotRead(ctx, name, err))
	}
	c := l.observe(node)
	c.lastLook.isOn = true
	for {
		p := decideRemoval(c)
		switch p.do {
		case askExistence:
			c.lastLook.asked = true
			c.answer, err = l.ask(ctx, node)
		case askWitness:
			c.lastLook.questions++
			c.memory, c.answer = p.memory, existence{}
			var heard bool
			if heard, err = l.hear(ctx, node, p.witness); !heard {
				c.lastLook.failures++
			}
		case remove:
			return l.remove(ctx, c, p)
		case leave, hold, lookLast:
			_, err := l.apply(ctx, c, p)
			return err
		}
		if err != nil {
			return err
		}
		c.now, c.roster = l.clock.Now(), l.rosterFor(node)
	}
}

// cannotRead holds a Node that the API server does not show us.
func (l *Controller) cannotRead(ctx context.Context, name string, why error) error {
	node, err := l.nodes.Cached(name)
	if err != nil || ctx.Err() != nil {
		return nil //nolint:nilerr // there is no Node that could be told of it
	}
	c := l.observe(node)
	c.lastLook.isOn = true
	_, err = l.apply(ctx, c, held(c, obstacle{cause: notRead(why)}))
	return err
}

// hear asks about a witness in the way the candidate is asked about, and says
// whether there was an answer.
func (l *Controller) hear(ctx context.Context, about, witness *corev1.Node) (heard bool, err error) {
	asked := witness.DeepCopy()
	if about.Spec.ProviderID == "" {
		asked.Spec.ProviderID = ""
	}
	sighting, err := l.instances.Existence(ctx, asked)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	l.metrics.called(callExists, err)
	l.sighted(asked, existenceOf(sighting, err, l.clock.Now()))
	return err == nil, nil
}

// deleteTries is how often the Node is read again in one last look because
// somebody has written it, though nothing that matters.
const deleteTries = 5

// remove deletes the Node as it was read. What it records is upstream's.
func (l *Controller) remove(ctx context.Context, c candidate, p removalPlan) error {
	name := c.node.Name
	l.remember(name, p.memory)
	err := l.nodes.Delete(ctx, c.node)
	for try := 1; kube.IsStale(err) && try < deleteTries; try++ {
		node, unread := l.nodes.Live(ctx, name)
		if unread != nil || speaksOtherwise(c.node, node) || movedElsewhere(c.node, node) {
			return nil //nolint:nilerr // the next look sees the Node as it is now
		}
		c.node = node
		err = l.nodes.Delete(ctx, node)
	}
	if err == nil || !kube.IsRejected(err) && !kube.IsStale(err) && !apierrors.IsNotFound(err) {
		l.countDeleted(c.node) // or perhaps deleted: a reply may be lost
	}
	switch {
	case err == nil:
		p.events = append(p.events, deleting(name))
		l.record(c.node, p.events)
		p.memory.deleted = c.node.UID
		l.remember(name, p.memory)
		l.metrics.deleted.Inc()
		klog.FromContext(ctx).Info("Deleted the node", "node", name, "providerID", c.node.Spec.ProviderID, "why", p.why)
		return nil
	case apierrors.IsNotFound(err), ctx.Err() != nil:
		return nil //nolint:nilerr // the next look sees the Node as it is now
	}
	c.memory, c.answer = p.memory, existence{}
	failed := held(c, obstacle{cause: notDeleted(err)})
	if len(failed.events) > 0 && !kube.IsStale(err) {
		failed.events = []message.Event{deletingFailed(name, err)}
	}
	_, applyErr := l.apply(ctx, c, failed)
	return errors.Join(err, applyErr)
}

// patch writes what the plan changes: the condition, then the taints.
func (l *Controller) patch(ctx context.Context, node *corev1.Node, p removalPlan) error {
	if p.condition != nil {
		status := kube.NodeStatusPatch{UID: node.UID, Condition: p.condition}
		if _, err := l.nodes.PatchStatus(ctx, node.Name, status); err != nil {
			return err
		}
	}
	if p.taints == nil {
		return nil
	}
	_, err := l.nodes.Patch(ctx, kube.NodePatch{Node: node, Taints: p.taints})
	return err
}

func (l *Controller) record(node *corev1.Node, events []message.Event) {
	for _, e := range events {
		l.events.Node(node, e.Type, e.Reason, e.Message)
	}
}

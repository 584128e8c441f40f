package nodelifecycle

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// observed has the inputs of a decision about one Node.
type observed struct {
	now    time.Time
	node   *corev1.Node // from the informer or, in the final check, from the API server; must not be changed
	answer answer
	memory memory
	peers  peers // set if needsPeers returns true, and in the final check
	limits Limits
	claim  ownership.Claim
}

// check records the progress of a final check.
type check struct {
	asked     bool // the cloud was asked about the Node itself
	again     bool // the cloud was asked about the Node once more, after witnesses were confirmed
	questions int  // number of questions about witnesses
	failures  int  // number of these questions that have failed
}

// memory is the state that this process keeps about a Node between passes.
type memory struct {
	evidence evidence
	holding  holding
	// firsts is the allowance for first questions, which are asked while there is no
	// evidence about the Node. A report of the kubelet resets the evidence, but not the
	// allowance.
	firsts allowance.Allowance
	// nextCheck is the earliest time at which the next final check can begin.
	nextCheck time.Time
	// deleted is the UID of the Node once the API server has accepted its deletion. The
	// cache might still have the Node.
	deleted types.UID
	// untainted means that the last write of the shutdown taint has failed, and that an
	// event has reported this.
	untainted bool
}

// of returns the memory if it belongs to this Node, and an empty memory if it belongs
// to an earlier Node of the same name. The evidence is that of the present silence.
func (m memory) of(node *corev1.Node) memory {
	if uid := m.evidence.uid; uid != "" && uid != node.UID {
		m = memory{}
	}
	m.evidence = m.evidence.about(node).inSilence(node)
	return m
}

// isEmpty reports whether the memory can be dropped. Most Nodes need none.
func (m memory) isEmpty(now time.Time) bool {
	e := m.evidence
	return e.presence == unknown && e.checkedAt.IsZero() && m.firsts.IsWhole(now) && m.holding.reason == "" && m.holding.recorded == nil && now.Sub(m.holding.wroteAt) >= showing.PutBackAfter && m.deleted == "" && !m.untainted
}

// ledger has what answers and deletions have taught about all Nodes. It cannot be counted
// again, so it is kept.
type ledger struct {
	answers map[string]answers // by the name of the Node
	// confirmed has the provider-ID schemes for which the provider has called at least
	// one instance present. Only questions by provider ID count, because an answer
	// about a name says nothing about the scheme.
	confirmed map[string]bool
	// recanted has the last time at which the cloud called an instance present after it
	// had called it absent.
	recanted map[kin]time.Time
	// deleted has the times of the deletions in the last minute, in order. Elements never
	// change, so a decision can keep a slice.
	deleted map[kin][]time.Time
}

// answers has the records of the questions about one Node.
type answers struct {
	uid types.UID
	to  [2]*record // by the key of the question; records never change
}

func newLedger() *ledger {
	return &ledger{answers: map[string]answers{}, confirmed: map[string]bool{}, recanted: map[kin]time.Time{}, deleted: map[kin][]time.Time{}}
}

// neverAsked is the record of a Node that the cloud was never asked about.
var neverAsked = &record{}

// about returns the record of the questions about this Node.
func (l *ledger) about(node *corev1.Node, by key) *record {
	if a := l.answers[node.Name]; a.uid == node.UID && a.to[by] != nil {
		return a.to[by]
	}
	return neverAsked
}

// record stores an answer. The Node is the one of the question.
func (l *ledger) record(node *corev1.Node, a answer, now time.Time) {
	by := keyOf(node)
	before := l.about(node, by)
	if a.presence == present && by == byID {
		l.confirmed[nodefact.Scheme(node)] = true
	}
	if before.presence == absent && a.presence == present {
		l.recanted[kinOf(node)] = now
	}
	known := l.answers[node.Name]
	if known.uid != node.UID {
		known = answers{uid: node.UID}
	}
	known.to[by] = new(before.with(a, now))
	l.answers[node.Name] = known
}

// countDeletion counts a deletion for the rate of the Node's kin.
func (l *ledger) countDeletion(node *corev1.Node, now time.Time) {
	l.deleted[kinOf(node)] = append(l.deletedBefore(node, now), now)
}

// deletedBefore returns the times of the deletions of such Nodes in the last minute.
func (l *ledger) deletedBefore(node *corev1.Node, now time.Time) []time.Time {
	all := l.deleted[kinOf(node)]
	for len(all) > 0 && now.Sub(all[0]) >= time.Minute {
		all = all[1:]
	}
	return slices.Clip(all)
}

// observe gathers the facts about the Node for a pass. It does no I/O.
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

// view returns what the decision about this Node can see of all Nodes. It makes a new
// snapshot at most once a second. c.mu must be held.
func (c *Controller) view(node *corev1.Node) view {
	now := c.clock.Now()
	if s := c.snapshot; s == nil || now.Sub(s.at) >= freshFor || now.Before(s.at) {
		c.snapshot = c.count(now)
	}
	since := c.memories[node.Name].evidence.about(node).since
	return view{snapshot: c.snapshot, ledger: c.ledger, node: node, since: since, now: now, described: c.instances.Confirmed(node)}
}

// peersOf returns the facts that the pass of this Node needs, gathered from all Nodes.
func (c *Controller) peersOf(node *corev1.Node) peers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view(node).peers()
}

// peersInCheck returns the facts that the final check of this Node needs.
func (c *Controller) peersInCheck(node *corev1.Node) peers {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.view(node)
	v.isFinal = true
	return v.peers()
}

// count makes a snapshot of all Nodes. c.mu must be held.
func (c *Controller) count(now time.Time) *snapshot {
	s := newSnapshot(c.limits, c.claim, now)
	for _, obj := range c.informer.GetStore().List() {
		node := obj.(*corev1.Node)
		s.add(node, c.memories[node.Name].evidence.about(node), c.ledger)
	}
	return s.whole()
}

// recordAnswer records the cloud's answer about a Node, for decisions about other
// Nodes. If the Node is gone, the snapshot that has it is dropped.
func (c *Controller) recordAnswer(node *corev1.Node, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.record(node, a, c.clock.Now())
	if cached, err := c.nodes.Cached(node.Name); err != nil || cached.UID != node.UID {
		delete(c.ledger.answers, node.Name)
		c.snapshot = nil
	}
}

// askExistence asks the cloud whether the instance of a Node exists. If it exists,
// askExistence also asks whether it runs. It returns an error only if the context ends.
func (c *Controller) askExistence(ctx context.Context, node *corev1.Node) (answer, error) {
	a, err := c.exists(ctx, node)
	if err == nil && a.presence == present {
		down, err := c.instances.Shutdown(ctx, node)
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		c.metrics.called(callShutdown, cloud.KindOf(err))
		a.power = powerOf(ctx, down, err)
	}
	return a, err
}

// exists asks the cloud whether the instance of a Node exists, and records the answer. It
// returns an error only if the context ends.
func (c *Controller) exists(ctx context.Context, node *corev1.Node) (answer, error) {
	existence, err := c.instances.Existence(ctx, node)
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	kind := cloud.KindOf(err)
	if err == nil && !existence.Present {
		kind = cloud.NotFound
	}
	c.metrics.called(callExists, kind)
	a := c.limits.counted(node, answerOf(existence, err, c.clock.Now()))
	c.recordAnswer(node, a)
	return a, nil
}

// askTermination adds to the answer "absent" what the cloud says about the end of the
// instance, if that proves anything about this Node. An error proves nothing, and is not
// shown: the Node then needs what every other Node needs. askTermination returns an error
// only if the context ends.
func (c *Controller) askTermination(ctx context.Context, node *corev1.Node, a answer) (answer, error) {
	if a.presence != absent {
		return a, nil
	}
	theirs, err := c.instances.Termination(ctx, node)
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	said := termination{providerID: theirs.ProviderID, at: theirs.At, by: theirs.By}
	proven, why := said.isOf(node, c.clock.Now())
	switch {
	case cloud.KindOf(err) == cloud.NotImplemented:
	case err == nil && proven:
		a.terminated = said
	default:
		klog.FromContext(ctx).V(2).Info("The termination of the instance is not proven", "node", node.Name, "why", why, "err", err)
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
	a, err := c.exists(ctx, asked)
	return a.presence != unknown, err
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

// remember stores the memory of a Node after a pass, and tells the metrics
// whether the Node is held.
func (c *Controller) remember(name string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.holding.reason == "" {
		c.metrics.held.Delete(name)
	} else {
		c.metrics.held.Set(name, m.holding.reason, m.holding.since)
	}
	if c.memories[name] = m; m.isEmpty(c.clock.Now()) {
		c.drop(name)
	}
}

// drop drops the memory of a Node. Without memories there is no decision that needs the
// snapshot, which keeps many Nodes in memory. c.mu must be held.
func (c *Controller) drop(name string) {
	if delete(c.memories, name); len(c.memories) == 0 {
		c.snapshot = nil
	}
}

// forget drops the memory of a Node that is gone.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
	delete(c.ledger.answers, name)
	c.metrics.held.Delete(name)
}

// postpone makes the next final check of this Node wait for at least minDelay from now.
// It is called after every final check, whatever the result.
func (c *Controller) postpone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.memories[name]
	if earliest := c.clock.Now().Add(minDelay); ok && m.nextCheck.Before(earliest) {
		m.nextCheck = earliest
		c.memories[name] = m
	}
}

// countDeletion counts a deletion for the rate limit of Nodes like this one. A Node does
// not count if a taint announces its removal.
func (c *Controller) countDeletion(node *corev1.Node) {
	if c.limits.isTainted(node) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.countDeletion(node, c.clock.Now())
}

// enqueueDeletion adds a Node to the queue of final checks. Until its final check is
// over, no pass asks about the Node.
func (c *Controller) enqueueDeletion(name string) {
	c.mu.Lock()
	c.enqueued[name] = true
	c.mu.Unlock()
	c.deletions.Add(name)
}

func (c *Controller) dequeue(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.enqueued, name)
}

func (c *Controller) isEnqueued(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enqueued[name]
}

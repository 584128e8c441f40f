package service

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// backends holds the newest set of Nodes behind load balancers.
type backends struct {
	lister  listersv1.NodeLister
	policy  BackendPolicy
	clock   clock.WithTicker
	changed chan struct{} // receives an element when a change makes a new set necessary
	pause   pause         // the pause before the next set is made; only follow uses it

	mu         sync.Mutex
	membership *membership // guarded by mu
	// touched has the names of the Nodes that might join or leave the next set. It
	// is guarded by mu.
	touched map[string]bool
	// moved means that a Node has changed since refreshed was last called. It is guarded
	// by mu.
	moved  bool
	warned string // the schemes that the last call of warn found; guarded by mu
	told   string // the ID of the set that follow has last reported; guarded by mu
}

func newBackends(lister listersv1.NodeLister, policy BackendPolicy, c clock.WithTicker) *backends {
	return &backends{
		lister: lister, policy: policy, clock: c, changed: make(chan struct{}, 1),
		membership: newMembership(policy), touched: map[string]bool{},
	}
}

// onChange records a change of a Node. For a new Node, before is nil. For a deleted
// Node, both before and now are nil.
func (b *backends) onChange(name string, before, now *corev1.Node) {
	invalidates := b.policy.invalidates(before, now)
	b.mu.Lock()
	b.moved = true
	if before != nil && now != nil && isReplaced(before, now) {
		b.membership.replaced[name] = true
	}
	if invalidates || b.policy.isBackend(before) != b.policy.isBackend(now) {
		b.touched[name] = true
	}
	b.mu.Unlock()
	if !invalidates {
		return
	}
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// newest returns the current set.
func (b *backends) newest() nodeSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.membership.set
}

// refreshed returns the current set with the newest version of each Node. Providers
// read the addresses and labels of Nodes, but a change of these does not lead to a new
// set. If a Node is gone or has become another instance, its old version stays in the
// set.
func (b *backends) refreshed() nodeSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.moved {
		return b.membership.set
	}
	b.moved = false
	nodes := slices.Clone(b.membership.set.nodes)
	for i, old := range nodes {
		node := b.node(old.Name)
		if node != nil && node.UID == old.UID && node.Spec.ProviderID == old.Spec.ProviderID {
			nodes[i] = node
		}
	}
	b.membership.set.nodes = nodes
	return b.membership.set
}

// node returns the Node with the name, or nil if there is none.
func (b *backends) node(name string) *corev1.Node {
	node, err := b.lister.Get(name)
	if err != nil { // The only error of a cache is that there is no such Node.
		return nil
	}
	return node
}

// remake makes a new set and reports whether it differs from the previous set.
func (b *backends) remake() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.membership.held {
		b.touched[name] = true
	}
	names := slices.Sorted(maps.Keys(b.touched))
	clear(b.touched)
	return b.membership.change(names, b.node, b.clock.Now())
}

// untilMove returns a channel for the Nodes that have joined and left the set too
// often. The channel delivers when the first of them may do so again. If there is no
// such Node, it never delivers.
func (b *backends) untilMove() (moves <-chan time.Time, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.membership.nextMove()
	if next.IsZero() {
		return nil, func() {}
	}
	timer := b.clock.NewTimer(next.Sub(b.clock.Now()))
	return timer.C(), func() { timer.Stop() }
}

// remakeEarly makes an early set for a new Service, before the Nodes have settled. It
// reports whether the early set differs from the previous set. If it does, follow
// reports the next set in any case. Otherwise the new Service would keep the early set
// if the next set equals the previous one.
func (b *backends) remakeEarly() bool {
	if !b.remake() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = ""
	return true
}

// isNews reports whether the current set has to be reported. This is so if it differs
// from the set at the last call of isNews, or if remakeEarly has made a new set since
// then. An early set alone causes no passes over other Services, because follow calls
// isNews only after the Nodes have settled.
func (b *backends) isNews() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.told
	b.told = b.membership.set.id
	return was != b.told
}

// follow makes a new set after Nodes have changed. It calls changed if the new set
// differs from the last set that was reported.
func (b *backends) follow(ctx context.Context, changed func()) {
	for {
		moves, stop := b.untilMove()
		select {
		case <-b.changed:
		case <-moves:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
		quiet := b.pause.next(b.clock.Now())
		b.settle(ctx, quiet)
		b.remake()
		b.warn(ctx)
		if b.isNews() {
			b.pause = pause{b.clock.Now(), quiet}
			changed()
		}
	}
}

// warn logs the provider-ID schemes of foreign Nodes behind load balancers, whenever
// these schemes change. Clouds often cannot reach foreign Nodes, and some providers
// fail if they get one.
func (b *backends) warn(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	schemes := strings.Join(b.membership.foreignSchemes(), ",")
	if schemes != b.warned && schemes != "" {
		klog.FromContext(ctx).Info("Warning: Nodes of other providers are behind load balancers; --service-backends-of=own leaves out Nodes that do not belong to this daemon", "schemes", schemes)
	}
	b.warned = schemes
}

// settle returns when no Node has changed for the time quiet, or after maxPause at
// the latest.
func (b *backends) settle(ctx context.Context, quiet time.Duration) {
	first := b.clock.Now()
	for last := first; ; last = b.clock.Now() {
		wait := left(quiet, first, last, b.clock.Now())
		if wait <= 0 {
			return
		}
		timer := b.clock.NewTimer(wait)
		select {
		case <-b.changed:
			timer.Stop()
		case <-timer.C():
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

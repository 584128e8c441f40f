package service

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// backends holds the newest set of Nodes behind load balancers.
type backends struct {
	lister  listersv1.NodeLister
	clock   clock.WithTicker
	changed chan struct{} // receives an element when a change makes a new set necessary
	pause   pause         // the pause before the next set is made; only follow uses it
	told    time.Time     // when the set was made that follow has last reported; only follow uses it

	mu         sync.Mutex
	membership membership // guarded by mu
	// stale means that a Node may have joined or left the set since it was last remade.
	stale  bool      // guarded by mu
	remade time.Time // the time of the last decision about all Nodes; guarded by mu
	// moved means that a Node has changed since refreshed was last called. It is guarded
	// by mu.
	moved bool
	// endpoints returns the Nodes with endpoints of a Service, and whether one of them is
	// ready. It is nil if the endpoints are not known.
	endpoints func(key string) map[string]bool
	// seats has the seats of the Services whose members are chosen, by key; guarded by mu
	seats  map[string]seat
	warned string // the schemes that the last call of warn found; guarded by mu
}

func newBackends(lister listersv1.NodeLister, policy BackendPolicy, c clock.WithTicker) *backends {
	return &backends{lister: lister, clock: c, changed: make(chan struct{}, 1), membership: membership{policy: policy}, stale: true, seats: map[string]seat{}}
}

// onChange records a change of a Node. For a new Node, before is nil. For a deleted
// Node, now is nil.
func (b *backends) onChange(name string, before, now *corev1.Node) {
	policy := b.membership.policy // It never changes.
	invalidates, is := policy.invalidates(before, now), now != nil && policy.isBackend(now)
	b.mu.Lock()
	b.moved = true
	m := b.membership.members[name]
	if before != nil && now != nil && (isReplaced(before, now) || hasOtherIPs(before, now)) && m.is {
		m.renewed = true
		b.membership.members[name] = m
	}
	concerned := m.is || is
	b.stale = b.stale || concerned && (invalidates || m.is != is)
	b.mu.Unlock()
	if !invalidates || !concerned {
		return
	}
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// of returns the members of a Service, and what they depend on.
func (b *backends) of(service *corev1.Service) seat {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, by := keyOf(service), b.membership.policy.Subset
	s := b.seats[key]
	s.choice, s.refused = by.chosen(service, b.endpoints != nil)
	if s.choice == (Choice{}) {
		delete(b.seats, key)
		return seat{refused: s.refused, set: b.membership.set}
	}
	if s.follows = s.choice.needsEndpoints(service); s.follows {
		s = s.located(b.endpoints(key), b.clock.Now())
	} else {
		s.places, s.later = nil, 0
	}
	s.set = b.membership.of(s, service.UID)
	b.seats[key] = s
	return s
}

// seat returns the last result of the method of, and false if all usable Nodes are members.
func (b *backends) seat(key string) (s seat, chosen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, chosen = b.seats[key]
	return s, chosen
}

// leave forgets a Service that needs no load balancer any more.
func (b *backends) leave(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.seats, key)
}

// wakeIn returns the time until a pass over the Service, after its endpoints have moved. It
// returns false if its members do not depend on them, or if the pass was already requested.
func (b *backends) wakeIn(key string) (in time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.seats[key]
	if !s.follows {
		return 0, false
	}
	s, in, ok = s.wakeIn(b.clock.Now())
	b.seats[key] = s
	return in, ok
}

// newest returns the current set.
func (b *backends) newest() nodeSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.membership.set
}

// refreshed returns the current set with the newest version of each Node. Providers
// read the labels of Nodes, too, but a change of these does not lead to a new set. If a
// Node is gone or has become another instance, its old version stays in the set.
func (b *backends) refreshed() nodeSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.moved {
		return b.membership.set
	}
	b.moved = false
	nodes := slices.Clone(b.membership.set.nodes)
	for i, old := range nodes {
		node, err := b.lister.Get(old.Name)
		if err == nil && node.UID == old.UID && node.Spec.ProviderID == old.Spec.ProviderID {
			nodes[i] = node
		}
	}
	b.membership.set.nodes = nodes
	return b.membership.set
}

// remake makes a new set if a Node may have joined or left the present one, and reports
// whether the sets differ.
func (b *backends) remake() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := b.clock.Now(), b.membership.next
	if !b.stale && (next.IsZero() || now.Before(next)) {
		return false
	}
	all, err := b.lister.List(labels.Everything())
	if err != nil { // Listing a cache returns no error.
		return false
	}
	b.stale, b.remade = false, now
	return b.membership.remake(all, now)
}

// remakeEarly makes an early set for a new Service, before the Nodes have settled, but
// not within minQuiet after the last decision about all Nodes. It reports whether the
// early set differs from the previous set.
func (b *backends) remakeEarly() bool { return b.untilRemake() <= 0 && b.remake() }

// untilRemake returns the time until the next decision about all Nodes, which costs the
// more the larger the cluster is.
func (b *backends) untilRemake() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remade.Add(minQuiet).Sub(b.clock.Now())
}

// nextMove returns a channel for the Nodes that have joined and left the set too often.
// The channel delivers when the first of them may do so again. If there is no such Node,
// it never delivers.
func (b *backends) nextMove() <-chan time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.membership.next.IsZero() {
		return nil
	}
	return b.clock.After(b.membership.next.Sub(b.clock.Now()))
}

// start makes the first set. It need not be reported, because each Service gets a first
// pass anyway.
func (b *backends) start(ctx context.Context) {
	b.remake()
	b.warn(ctx)
	b.told = b.newest().made
}

// follow makes a new set after Nodes have changed. It calls changed if another set was
// made since the last call, which may be an early one: after an early set that differs,
// the new Service has to be updated even if the next set equals the last one reported.
// An early set alone causes no passes over other Services.
func (b *backends) follow(ctx context.Context, changed func()) {
	for {
		select {
		case <-b.changed:
		case <-b.nextMove():
		case <-ctx.Done():
			return
		}
		quiet := b.pause.next(b.clock.Now())
		b.settle(ctx, quiet)
		b.remake()
		b.warn(ctx)
		if made := b.newest().made; made != b.told {
			b.pause, b.told = pause{b.clock.Now(), quiet}, made
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
// the latest. It returns at least minQuiet after the last decision about all Nodes.
func (b *backends) settle(ctx context.Context, quiet time.Duration) {
	first, earliest := b.clock.Now(), b.untilRemake()
	for last := first; ; last = b.clock.Now() {
		now := b.clock.Now()
		wait := max(left(quiet, first, last, now), earliest-now.Sub(first))
		if wait <= 0 {
			return
		}
		select {
		case <-b.changed:
		case <-b.clock.After(wait):
			return
		case <-ctx.Done():
			return
		}
	}
}

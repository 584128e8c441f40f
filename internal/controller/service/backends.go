package service

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// backends holds the newest set of Nodes behind load balancers.
type backends struct {
	lister  listersv1.NodeLister
	policy  BackendPolicy
	clock   clock.WithTicker
	changed chan struct{} // has an element while the set is out of date

	mu      sync.Mutex
	current nodeSet // guarded by mu
	// members are the Nodes that the last set was made from. later is the time until a
	// Node that has moved too often may move, 0 if there is none. Both are guarded by mu.
	members map[types.UID]member
	later   time.Duration
	warned  string // the schemes that warn has last named
	told    string // the ID of the set that follow has last reported; guarded by mu
}

func newBackends(lister listersv1.NodeLister, policy BackendPolicy, c clock.WithTicker) *backends {
	return &backends{lister: lister, policy: policy, clock: c, changed: make(chan struct{}, 1)}
}

// onChange records a change of a Node. before is nil for a new Node, and now is nil
// for a deleted one.
func (b *backends) onChange(before, now *corev1.Node) {
	if !b.policy.invalidates(before, now) {
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
	return b.current
}

// refreshed returns the current set with its Nodes as they are now: providers
// read their addresses and labels, which change without making another set. A
// Node that is gone meanwhile, or is another instance, stays as it was.
func (b *backends) refreshed() nodeSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	nodes := slices.Clone(b.current.nodes)
	for i, old := range nodes {
		node, err := b.lister.Get(old.Name)
		if err == nil && node.Spec.ProviderID == old.Spec.ProviderID {
			nodes[i] = node
		}
	}
	b.current.nodes = nodes
	return b.current
}

// remake makes a new set and reports whether it differs from the last one.
func (b *backends) remake() bool {
	all, err := b.lister.List(labels.Everything())
	if err != nil { // Listing a cache returns no error.
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	next := b.setOf(all, now)
	next.made = now
	differs := b.current.id != next.id
	if differs {
		b.current = next
	}
	return differs
}

// setOf returns the set of those Nodes that are behind load balancers, and remembers
// them. The caller holds mu.
func (b *backends) setOf(all []*corev1.Node, now time.Time) nodeSet {
	members := make(map[types.UID]member, len(all))
	var nodes []*corev1.Node
	b.later = 0
	for _, node := range all {
		was, known := b.members[node.UID]
		if !known {
			was.is = b.policy.isBackend(node)
		}
		is, later := was.next(b.policy, node, now)
		if later > 0 && (b.later == 0 || later < b.later) {
			b.later = later
		}
		if members[node.UID] = is; is.is {
			nodes = append(nodes, node)
		}
	}
	b.members = members
	return newSet(nodes)
}

// untilMove delivers when a Node that has moved too often may move. It delivers
// nothing if there is none.
func (b *backends) untilMove() (moves <-chan time.Time, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.later == 0 {
		return nil, func() {}
	}
	timer := b.clock.NewTimer(b.later)
	return timer.C(), func() { timer.Stop() }
}

// remakeEarly makes a new set for a new Service, before the Nodes have settled. It
// reports whether the set differs from the last one. If so, the next set is news in
// any case, even if it is the one that was reported last: the new Service has this
// one.
func (b *backends) remakeEarly() bool {
	if !b.remake() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = ""
	return true
}

// isNews reports whether the current set differs from that of the last call. A
// set that was made for a new Service is reported to the others once the Nodes
// have settled.
func (b *backends) isNews() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.told
	b.told = b.current.id
	return was != b.told
}

// follow makes a new set after Nodes have changed, and calls changed if it
// differs from the last one that was reported.
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
		b.settle(ctx)
		b.remake()
		b.warn(ctx)
		if b.isNews() {
			changed()
		}
	}
}

// warn logs which Nodes of others are behind load balancers, when that changes.
// Clouds often cannot reach such Nodes, and some providers fail.
func (b *backends) warn(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	schemes := strings.Join(b.policy.foreignSchemes(b.current), ",")
	if schemes != b.warned && schemes != "" {
		klog.FromContext(ctx).Info("Warning: Nodes of other providers are behind load balancers; --service-backends-of=own leaves out those that are not this daemon's", "schemes", schemes)
	}
	b.warned = schemes
}

// settle returns when no Node has changed for the time of debounce, or after
// maxDebounce.
func (b *backends) settle(ctx context.Context) {
	deadline := b.clock.Now().Add(maxDebounce)
	for {
		timer := b.clock.NewTimer(min(debounce, deadline.Sub(b.clock.Now())))
		select {
		case <-b.changed:
			timer.Stop()
			if !b.clock.Now().Before(deadline) {
				return
			}
		case <-timer.C():
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

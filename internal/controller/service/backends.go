package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"
)

const (
	// quiet is how long the nodes have to be left alone before the set is made
	// anew, and patience how long that is waited for: nodes join in crowds, and
	// each set costs a call for each load balancer.
	quiet    = time.Second
	patience = 5 * time.Second
)

// set is one generation of the nodes behind all load balancers. It is made once
// and shared by all calls.
type set struct {
	// id names the set: two sets of one name hold the same instances.
	id    string
	nodes []*corev1.Node
	made  time.Time
}

// backends are the nodes behind load balancers, in generations.
type backends struct {
	lister  listersv1.NodeLister
	choice  Choice
	clock   clock.WithTicker
	changed chan struct{} // has an element while the set is out of date

	mu      sync.Mutex
	current set // guarded by mu
}

func newBackends(lister listersv1.NodeLister, choice Choice, c clock.WithTicker) *backends {
	return &backends{lister: lister, choice: choice, clock: c, changed: make(chan struct{}, 1)}
}

// invalidate says that the nodes have changed.
func (b *backends) invalidate() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// newest returns the current generation.
func (b *backends) newest() set {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current
}

// renewed returns the current generation with its nodes as they are now:
// providers read their addresses and labels, which change without making another
// set. What has not changed is not copied again, and what an earlier call was
// given stays as it is.
func (b *backends) renewed() set {
	b.mu.Lock()
	defer b.mu.Unlock()
	nodes := slices.Clone(b.current.nodes)
	for i, old := range nodes {
		node, err := b.lister.Get(old.Name)
		if err == nil && node.ResourceVersion != old.ResourceVersion && node.Spec.ProviderID == old.Spec.ProviderID {
			nodes[i] = node.DeepCopy()
		}
	}
	b.current.nodes = nodes
	return b.current
}

// remake makes a new generation and says whether it differs from the last.
func (b *backends) remake() bool {
	all, err := b.lister.List(labels.Everything())
	if err != nil { // The cache has no errors of its own.
		return false
	}
	next := b.choice.of(all)
	next.made = b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	differs := b.current.id != next.id
	if differs {
		b.current = next
	}
	return differs
}

// follow makes a new generation when the nodes have changed and have been quiet
// for a while, and calls changed if it differs.
func (b *backends) follow(ctx context.Context, changed func()) {
	for {
		select {
		case <-b.changed:
		case <-ctx.Done():
			return
		}
		b.settle(ctx)
		if b.remake() {
			changed()
		}
	}
}

// settle waits until the nodes have been quiet, but not for ever.
func (b *backends) settle(ctx context.Context) {
	deadline := b.clock.Now().Add(patience)
	for {
		timer := b.clock.NewTimer(min(quiet, deadline.Sub(b.clock.Now())))
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

// of makes the set of the nodes that are behind load balancers.
func (c Choice) of(all []*corev1.Node) set {
	var s set
	for _, node := range all {
		if c.isBackend(node) {
			s.nodes = append(s.nodes, node.DeepCopy())
		}
	}
	slices.SortFunc(s.nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, node := range s.nodes {
		sum.Write([]byte(node.Name + "\x00" + node.Spec.ProviderID + "\x00"))
	}
	s.id = hex.EncodeToString(sum.Sum(nil)[:8])
	return s
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// ErrLate means that something has not happened in time.
var ErrLate = errors.New("not in time")

// Nodes observes all Nodes of a cluster with one watch.
type Nodes struct {
	clock clock.WithTicker
	store cache.Store
	stop  func()
	news  chan struct{} // not empty if something has changed since the last read

	mu      sync.Mutex
	changed time.Time // when a Node last changed; guarded by mu
}

// Watch begins a watch. The watch ends with Close or with the context.
func Watch(ctx context.Context, client kubernetes.Interface, c clock.WithTicker) (*Nodes, error) {
	ctx, cancel := context.WithCancel(ctx)
	n := &Nodes{clock: c, news: make(chan struct{}, 1), changed: c.Now()}
	var informer cache.Controller
	n.store, informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll, fields.Everything()),
		ObjectType:    &corev1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { n.note() },
			UpdateFunc: func(any, any) { n.note() },
			DeleteFunc: func(any) { n.note() },
		},
	})
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	n.stop = func() { cancel(); running.Wait() }
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		n.Close()
		return nil, fmt.Errorf("watch Nodes: %w", context.Cause(ctx))
	}
	return n, nil
}

// Close ends the watch.
func (n *Nodes) Close() { n.stop() }

func (n *Nodes) note() {
	n.mu.Lock()
	n.changed = n.clock.Now()
	n.mu.Unlock()
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// Unchanged returns the time since the last change of a Node.
func (n *Nodes) Unchanged() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock.Since(n.changed)
}

// All returns the Nodes by name. They must not be changed.
func (n *Nodes) All() map[string]*corev1.Node {
	nodes := map[string]*corev1.Node{}
	for _, object := range n.store.List() {
		if node, ok := object.(*corev1.Node); ok {
			nodes[node.Name] = node
		}
	}
	return nodes
}

// Names returns the names of all Nodes, in order.
func (n *Nodes) Names() []string {
	names := n.store.ListKeys()
	slices.Sort(names)
	return names
}

// Await calls check whenever a Node changes, and also a few times a second. It returns
// nil once check returns nil. When the time is over, it returns an error that wraps
// both ErrLate and the last error of check. Only one goroutine at a time may call
// Await.
func (n *Nodes) Await(ctx context.Context, within time.Duration, check func(map[string]*corev1.Node) error) error {
	const pause = 10 * time.Millisecond // so that many changes in a short time need few checks
	deadline := n.clock.Now().Add(within)
	tick := n.clock.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(n.All())
		if err == nil {
			return nil
		}
		if !n.clock.Now().Before(deadline) {
			return fmt.Errorf("%w, %v: %w", ErrLate, within, err)
		}
		select {
		case <-n.clock.After(pause):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
		select {
		case <-n.news:
		case <-tick.C():
		case <-ctx.Done():
		}
	}
}

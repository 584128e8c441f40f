package bed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// guard checks every version of every Node. It records each Node that was
// released for scheduling before it was complete (S6).
type guard struct {
	mu         sync.Mutex
	waiting    map[types.UID]bool // Nodes that were seen with the taint; guarded by mu
	spared     map[string]bool    // names of Nodes whose provider has no provider IDs; guarded by mu
	violations []string           // guarded by mu
}

func newGuard() *guard { return &guard{waiting: map[types.UID]bool{}, spared: map[string]bool{}} }

// watch checks Nodes until the context ends. If the connection breaks, watch continues
// after the last version that it has seen, so that it misses no version. If the API
// server no longer has that version, watch starts again with the current Nodes.
func (g *guard) watch(ctx context.Context, client kubernetes.Interface) {
	version := ""
	for ctx.Err() == nil {
		stream, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			Pause(ctx, 100*time.Millisecond)
			continue
		}
		for e := range stream.ResultChan() {
			node, ok := e.Object.(*corev1.Node)
			if !ok { // an error that ends the watch
				version = ""
				continue
			}
			version = node.ResourceVersion
			if e.Type == watch.Added || e.Type == watch.Modified {
				g.look(node)
			}
		}
	}
}

// Pause waits for d, or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (g *guard) look(node *corev1.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if nodes.IsTainted(node) {
		g.waiting[node.UID] = true
		return
	}
	if !g.waiting[node.UID] {
		return
	}
	delete(g.waiting, node.UID)
	if missing := nodes.Missing(node, g.spared[node.Name]); len(missing) > 0 {
		g.violations = append(g.violations, fmt.Sprintf("node %s is released for scheduling (version %s) without %s",
			node.Name, node.ResourceVersion, strings.Join(missing, ", ")))
	}
}

// Spare tells the guard that this Node needs no provider ID, because its provider has
// none.
func (g *guard) Spare(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spared[node] = true
}

func (g *guard) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.violations)
}

func (g *guard) since(count int) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.violations[count:])
}

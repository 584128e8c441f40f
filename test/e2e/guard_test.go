package e2e

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
	"k8s.io/cloud-provider/api"
)

// guard looks at every version of every Node and remembers each that was
// released for scheduling half written (S6).
type guard struct {
	mu         sync.Mutex
	waiting    map[types.UID]bool // Nodes that were seen with the taint; guarded by mu
	spared     map[string]bool    // names of Nodes whose provider has no IDs; guarded by mu
	violations []string           // guarded by mu
}

func newGuard() *guard { return &guard{waiting: map[types.UID]bool{}, spared: map[string]bool{}} }

// watch looks until the context ends. A watch that breaks goes on where it
// was, so that no version is missed, unless the API server no longer knows.
func (g *guard) watch(ctx context.Context, client kubernetes.Interface) {
	version := ""
	for ctx.Err() == nil {
		stream, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			pause(ctx, 100*time.Millisecond)
			continue
		}
		for e := range stream.ResultChan() {
			node, ok := e.Object.(*corev1.Node)
			if !ok { // what ends a watch is no Node
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

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (g *guard) look(node *corev1.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if tainted(node) {
		g.waiting[node.UID] = true
		return
	}
	if !g.waiting[node.UID] {
		return
	}
	if missing := missingOf(node, g.spared[node.Name]); len(missing) > 0 {
		g.violations = append(g.violations, fmt.Sprintf("node %s is released for scheduling (version %s) without %s",
			node.Name, node.ResourceVersion, strings.Join(missing, ", ")))
	}
}

// spare says that the provider of this Node has no provider IDs.
func (g *guard) spare(node string) {
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

// missingOf is what a Node must have before it may be released.
func missingOf(node *corev1.Node, nameless bool) []string { //nolint:revive // flag-parameter: a fact of the provider
	var missing []string
	if node.Spec.ProviderID == "" && !nameless {
		missing = append(missing, "provider ID")
	}
	for _, label := range sixLabels {
		if node.Labels[label] == "" {
			missing = append(missing, "label "+label)
		}
	}
	if !slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }) {
		missing = append(missing, "addresses")
	}
	return missing
}

// sixLabels are the labels of a Node's type and place.
var sixLabels = []string{
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
	corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion,
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintExternalCloudProvider })
}

package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// absentFor is the time for which a provider with a cache returns "absent" from the
// cache. Tests with such a provider set --node-deletion-young-absent-for to a longer
// time.
const absentFor = 12 * time.Second

// memory is the state that a faulty provider keeps between calls.
type memory struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	asked  map[string]int       // by node; guarded by mu
	absent map[string]time.Time // by node: when the cloud last called its instance absent; guarded by mu
}

func newMemory() *memory {
	return &memory{clock: clock.RealClock{}, asked: map[string]int{}, absent: map[string]time.Time{}}
}

// InstanceExists implements cloudprovider.InstancesV2.
func (f faulty) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	ask := func() (bool, error) { return f.InstancesV2.InstanceExists(ctx, node) }
	switch f.of(ctx, node.Name) {
	case "disowns":
		return false, nil // a provider ID of another cloud
	case "flapping":
		return f.memory.flap(node.Name, ask)
	case "caches-absent":
		return f.memory.cached(node.Name, ask)
	}
	return ask()
}

// flap returns "absent" twice, and then the right answer.
func (m *memory) flap(node string, ask func() (bool, error)) (bool, error) {
	m.mu.Lock()
	m.asked[node]++
	n := m.asked[node]
	m.mu.Unlock()
	if n%3 != 0 {
		klog.InfoS("Absent, wrongly", "node", node, "times", n)
		return false, nil
	}
	return ask()
}

// cached returns "absent" for a while after the cloud has said so once. Meanwhile it does
// not ask the cloud again.
func (m *memory) cached(node string, ask func() (bool, error)) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, ok := m.absent[node]; ok && m.clock.Since(since) < absentFor {
		klog.InfoS("Absent, from the cache", "node", node)
		return false, nil
	}
	exists, err := ask()
	if err == nil && !exists {
		m.absent[node] = m.clock.Now()
	}
	return exists, err
}

// listed looks up each instance in a list of all instances, as many providers do.
type listed struct {
	cloudprovider.InstancesV2

	client *simulator.Client
}

// InstanceExists implements cloudprovider.InstancesV2.
func (l listed) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	all, err := l.client.Instances(ctx)
	if err != nil {
		return false, err
	}
	for _, i := range all {
		if i.State != simulator.Terminated && "simulated://"+i.Region+"/"+i.ID == node.Spec.ProviderID {
			return true, nil
		}
	}
	klog.InfoS("Not in the list", "node", node.Name, "listed", len(all))
	return false, nil
}

package service

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// gatherFor is the time for which an update of nodes waits for the updates of other
// workers, so that all share one call.
const gatherFor = 5 * time.Millisecond

// errJoined means that another pass makes this update, in the same call as its own
// update.
var errJoined = errors.New("the update is made together with others")

// manyBalancers is a cloud that can update the nodes of many load balancers in one
// call.
type manyBalancers interface {
	// MaxUpdates returns the current maximum number of Services in one call. It returns
	// 0 if no call for several Services may be made now.
	MaxUpdates() int
	UpdateMany(ctx context.Context, services []*corev1.Service, nodes []*corev1.Node) []error
}

// together lets the updates of several Services share a call. While a shared call is
// under way, its Services are claimed.
type together struct {
	cloud manyBalancers

	mu      sync.Mutex
	forming *group // the group that takes members, or nil; guarded by mu
}

// group has the Services whose updates share a call. The elements of keys and members
// are in the same order. The field most is the maximum number of members.
type group struct {
	most    int
	keys    []string
	members []plan
}

// join adds the update to the group that is forming, and returns errJoined. If no group
// is forming, or if the group is full, join returns a new group that the caller leads.
func (t *together) join(key string, p plan, most int) (lead *group, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.forming; f != nil && len(f.keys) < f.most {
		f.keys, f.members = append(f.keys, key), append(f.members, p)
		return nil, errJoined
	}
	t.forming = &group{most: most, keys: []string{key}, members: []plan{p}}
	return t.forming, nil
}

// closeGroup keeps further passes from joining the group.
func (t *together) closeGroup(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forming == g {
		t.forming = nil
	}
}

// update makes the update of a plan. If the update may share a call, it is made
// together with others.
func (c *Controller) update(ctx context.Context, key string, p plan) error {
	most := 1
	if c.together != nil && p.shared {
		most = c.together.cloud.MaxUpdates()
	}
	if most < 2 {
		return c.call(ctx, key, p)
	}
	g, err := c.together.join(key, p, most)
	if err != nil {
		return err
	}
	c.gather(ctx, g)
	if len(g.keys) == 1 {
		return c.call(ctx, key, p)
	}
	defer func() {
		for _, other := range g.keys[1:] {
			c.claims.release(other)
			c.again(other)
		}
	}()
	return c.callTogether(ctx, g)
}

// gather waits for the updates that other workers have begun. Then it adds to the group
// those updates that still wait for a worker.
func (c *Controller) gather(ctx context.Context, g *group) {
	timer := c.clock.NewTimer(gatherFor)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
	c.together.closeGroup(g)
	for _, key := range c.store.outdated(c.backends.newest().id) {
		if len(g.keys) == g.most {
			return
		}
		if !c.claims.claim(key) {
			continue
		}
		o, err := c.observe(key)
		if p := decide(o); err == nil && p.do == update && p.shared {
			g.keys, g.members = append(g.keys, key), append(g.members, p)
		} else {
			c.free(key)
		}
	}
}

// callTogether makes one call for all members of the group, and stores the outcome of
// each of them. If the call says nothing about a member, that member gets a call of its
// own later. So does a member that is not to get all usable Nodes any more.
func (c *Controller) callTogether(ctx context.Context, all *group) error {
	nodes, g := c.backends.refreshed(), group{}
	var services []*corev1.Service
	var stops []func() []metav1.Condition
	for n, p := range all.members {
		if c.backends.of(p.service).set.id == nodes.id {
			g.keys, g.members = append(g.keys, all.keys[n]), append(g.members, p)
			services, stops = append(services, p.service), append(stops, c.reportSlowCall(ctx, p))
		}
	}
	began := c.clock.Now()
	errs := c.together.cloud.UpdateMany(ctx, services, nodes.nodes)
	took := c.clock.Since(began)
	failures := 0
	for n, p := range g.members {
		shown := stops[n]()
		switch {
		case ctx.Err() != nil:
		case errors.Is(errs[n], cloud.ErrAlone):
			m := c.store.memory(g.keys[n]).withConditions(shown, c.clock.Now())
			m.alone = nodes.id
			c.store.remember(g.keys[n], m)
		default:
			if errs[n] != nil {
				failures++
			}
			c.conclude(ctx, g.keys[n], p, called{outcomeOf(update, nodes, errs[n], c.clock.Now()), errs[n], took, shown})
		}
	}
	klog.FromContext(ctx).Info("Load balancers updated with one call", "services", len(services), "nodes", len(nodes.nodes), "failed", failures, "took", took)
	return ctx.Err()
}

// claims has the Services that are in use, by key. A Service is used by one pass or by
// one call that updates several load balancers, but never by both. So calls about one
// Service never overlap (promise S3).
type claims struct {
	mu sync.Mutex
	of map[string]bool // whether another claim of the Service was refused; guarded by mu
}

// claim claims a Service and reports whether it was free.
func (c *claims) claim(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, taken := c.of[key]
	c.of[key] = taken
	return !taken
}

// release ends a claim, and reports whether another claim of the Service was refused
// during that time.
func (c *claims) release(key string) (refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused = c.of[key]
	delete(c.of, key)
	return refused
}

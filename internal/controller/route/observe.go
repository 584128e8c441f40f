package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// observe gathers the known facts about the table, without I/O. changed is the time of
// the last change of a Node before the pass began. The caller holds mu until the
// decision is made.
func (c *Controller) observe(changed time.Time) (observed, error) {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		return observed{}, fmt.Errorf("nodes in the cache: %w", err)
	}
	return observed{
		now: c.cfg.Clock.Now(), clusters: c.cfg.Clusters, nodes: nodes, changed: changed, memory: c.memory, limits: c.cfg.Limits, claim: c.cfg.Claim,
	}, nil
}

// decide observes the table, lists the routes if the plan needs that, and returns the
// plan to change them. The function remember changes the memory for this plan.
func (c *Controller) decide(ctx context.Context, changed time.Time, remember func(*memory, plan, time.Time)) (observed, plan, error) {
	for range maxListings {
		o, p, err := c.decideOnce(changed, remember)
		if err != nil || p.do == changeRoutes {
			return o, p, err
		}
		if c.list(ctx, p.why); ctx.Err() != nil {
			return observed{}, plan{}, ctx.Err()
		}
	}
	return observed{}, plan{}, fmt.Errorf("the routes were listed %d times, and still have to be listed again", maxListings)
}

// decideOnce holds mu, so that nobody else changes the memory in between.
func (c *Controller) decideOnce(changed time.Time, remember func(*memory, plan, time.Time)) (observed, plan, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.observe(changed)
	if err != nil {
		return observed{}, plan{}, err
	}
	p := decide(o)
	if p.do == changeRoutes {
		remember(&c.memory, p, o.now)
	}
	return o, p, nil
}

// list asks the cloud for all routes. A failure goes into the memory, and the
// next plan decides what to do about it.
func (c *Controller) list(ctx context.Context, why string) {
	logger := klog.FromContext(ctx).WithValues("call", callList)
	began := c.cfg.Clock.Now()
	routes, err := c.deps.Routes.List(ctx)
	if ctx.Err() != nil {
		return
	}
	a := answer{began: began, ended: c.cfg.Clock.Now(), next: began.Add(jitter(c.cfg.Period)), routes: fromCloud(routes)}
	c.cfg.Metrics.called(callList, a.ended.Sub(began), err)
	if err != nil {
		f := failureOf(callList, err)
		a.failed = &f
		a.underWay = cloud.IsUnderWay(err)
	}
	c.mu.Lock()
	before := c.memory.listingFailure
	c.memory.listed(a)
	after := c.memory.listingFailure
	c.mu.Unlock()
	switch {
	case err == nil && before.count > 0:
		logger.Info("Route call succeeds again", "after", a.ended.Sub(before.since))
	case err == nil:
		logger.V(4).Info("Listed routes", "routes", len(routes), "why", why)
	case before.kind != after.kind:
		logger.Error(err, "Route call failed", "why", why)
	}
}

// jitter returns the period, give or take a tenth.
func jitter(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // no secret
}

// failureOf returns the failure to remember for an error. For a creation, the text is
// the cloud's own error, because upstream's event shows that error (upstream-behaviour
// 5.2).
func failureOf(o operation, err error) failure {
	f := failure{kind: string(cloud.KindOf(err)), text: message.Cut(err), pause: cloud.RetryAfter(err)}
	if theirs := errors.Unwrap(err); o == callCreate && theirs != nil {
		f.text = message.Cut(theirs)
	}
	return f
}

// fromCloud returns the routes that the cloud has listed.
func fromCloud(listed []cloud.Route) []route {
	routes := make([]route, 0, len(listed))
	for _, l := range listed {
		r := route{
			identity:  identity{name: l.Name, target: l.Node, destination: l.CIDR},
			blackhole: l.Blackhole, addresses: slices.Clone(l.Addresses), addressed: l.Addressed,
		}
		if cidr, err := netip.ParsePrefix(l.CIDR); err == nil {
			r.cidr = cidr.Masked()
		}
		routes = append(routes, r)
	}
	return routes
}

// toCloud returns the route in the form in which the cloud has listed it.
func (r route) toCloud() cloud.Route {
	return cloud.Route{
		Name: r.name, Node: r.target, CIDR: r.destination, Blackhole: r.blackhole,
		Addresses: slices.Clone(r.addresses), Addressed: r.addressed,
	}
}

// toCloud returns the route to create.
func (c creation) toCloud(cidr netip.Prefix) cloud.Route {
	return cloud.Route{Node: c.node.Name, CIDR: cidr.String(), Addresses: slices.Clone(c.node.Status.Addresses)}
}

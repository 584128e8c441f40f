package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/klog/v2"
)

func (c *Cloud) loadBalancer(ctx context.Context, id string, v view) (LoadBalancer, error) {
	b := seen(ctx, c, c.loadBalancers, v, id)
	if b == nil {
		return LoadBalancer{}, noLoadBalancer(id)
	}
	return c.withTraffic(b.shown()), nil
}

func (c *Cloud) createLoadBalancer(ctx context.Context, wanted LoadBalancer) (LoadBalancer, error) {
	wanted, err := wanted.asCreated()
	if err != nil {
		return LoadBalancer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	if n, most := len(c.loadBalancers.ids), c.limits.loadBalancers; most > 0 && n >= most {
		return LoadBalancer{}, conflict(CodeQuotaExceeded, "the account has %d load balancers, and its quota is %d", n, most)
	}
	number := c.lastLoadBalancer + 1
	wanted.ID, wanted.State = loadBalancerIDs.id(number), LoadBalancerPending
	created, err := c.putBalancer(ctx, now, balancer{LoadBalancer: wanted, Created: now, ActiveAt: now.Add(c.limits.pending)}, number)
	if err != nil {
		return LoadBalancer{}, err
	}
	return created.shown(), nil
}

func (c *Cloud) updateLoadBalancer(ctx context.Context, id string, patch LoadBalancerPatch, v view) (LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	b := c.loadBalancers.row(id)
	if b == nil || v.hides(b.identity(), now) {
		return LoadBalancer{}, noLoadBalancer(id)
	}
	patched, err := b.patched(patch)
	if err != nil {
		return LoadBalancer{}, err
	}
	changed := *b
	changed.LoadBalancer = patched
	if patched.StaticIP != b.StaticIP {
		changed.Address = ""
	}
	changed, err = c.putBalancer(ctx, now, changed, c.lastLoadBalancer)
	if err != nil {
		return LoadBalancer{}, err
	}
	return changed.shown(), nil
}

func (c *Cloud) deleteLoadBalancer(ctx context.Context, id string, v view) (LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	b := c.loadBalancers.row(id)
	if b == nil || v.hides(b.identity(), now) {
		return LoadBalancer{}, noLoadBalancer(id)
	}
	if err := commit(c, now, c.loadBalancers, id, nil); err != nil {
		return LoadBalancer{}, err
	}
	klog.FromContext(ctx).Info("Load balancer deleted", "loadBalancer", id, "name", b.Name)
	return b.shown(), nil
}

// putBalancer checks a load balancer against everything else, gives it an
// address if it has none, and keeps it. The number is the last one that was
// given once it is kept. c.mu is held.
func (c *Cloud) putBalancer(ctx context.Context, now time.Time, b balancer, number int) (balancer, error) {
	if err := c.checkBalancer(b.LoadBalancer); err != nil {
		return b, err
	}
	if b.Address == "" {
		address, err := c.balancerAddress(ctx, b.LoadBalancer)
		if err != nil {
			return b, err
		}
		b.Address = address
	}
	b = b.at(now)
	before := c.lastLoadBalancer
	c.lastLoadBalancer = number
	if err := commit(c, now, c.loadBalancers, b.ID, &b); err != nil {
		c.lastLoadBalancer = before
		return b, err
	}
	c.expectMoves()
	klog.FromContext(ctx).Info("Load balancer written", "loadBalancer", b.ID, "name", b.Name, "state", b.State, "backends", len(b.Backends))
	return b, nil
}

// checkBalancer checks a load balancer against everything else. c.mu is held.
func (c *Cloud) checkBalancer(l LoadBalancer) error {
	if n, most := len(l.Backends), c.limits.backends; most > 0 && n > most {
		return conflict(CodeQuotaExceeded, "load balancer %s is to have %d backends, and the quota is %d for each", l.Name, n, most)
	}
	if l.StaticIP != "" && c.staticIPs.row(l.StaticIP) == nil {
		return invalid("staticIP", "%s does not exist", l.StaticIP)
	}
	for _, other := range c.loadBalancers.rows {
		switch {
		case other.ID == l.ID:
		case other.Name == l.Name:
			return conflict(CodeAlreadyExists, "the name %s belongs to load balancer %s", l.Name, other.ID)
		case l.StaticIP != "" && other.StaticIP == l.StaticIP:
			return conflict(CodeConflict, "static IP %s is used by load balancer %s (%s)", l.StaticIP, other.ID, other.Name)
		}
	}
	return nil
}

// balancerAddress is the address of the static IP, or a free one. c.mu is held.
func (c *Cloud) balancerAddress(ctx context.Context, l LoadBalancer) (string, error) {
	if l.StaticIP != "" {
		return c.staticIPs.row(l.StaticIP).Address, nil
	}
	return c.freeBalancerAddress(ctx)
}

// withTraffic adds what the load balancer carries.
func (c *Cloud) withTraffic(l LoadBalancer) LoadBalancer {
	l.Traffic = c.traffic(l.ID)
	return l
}

// settleLoadBalancers lets load balancers become active. c.mu is held.
func (c *Cloud) settleLoadBalancers(ctx context.Context, now time.Time) {
	for _, b := range c.loadBalancers.all() {
		if b.ActiveAt.IsZero() || b.ActiveAt.After(now) {
			continue
		}
		active := b.at(now)
		c.loadBalancers.remember(c.loadBalancers.exchange(now, b.ID, &active))
		klog.FromContext(ctx).Info("Load balancer is active", "loadBalancer", b.ID, "name", b.Name, "address", b.Address)
	}
}

// restorableBalancer says why a load balancer could not have been saved. c.mu
// is held.
func (c *Cloud) restorableBalancer(b *balancer) error {
	if err := restorable(loadBalancerIDs, b.ID, c.lastLoadBalancer, c.loadBalancers); err != nil {
		return err
	}
	if !slices.Contains([]LoadBalancerState{LoadBalancerPending, LoadBalancerActive}, b.State) {
		return fmt.Errorf("state: %q is none", b.State)
	}
	if !isBalancerAddress(b.Address) {
		return fmt.Errorf("address: %q is none for load balancers", b.Address)
	}
	if b.Traffic != nil {
		return errors.New("traffic: is not kept")
	}
	checked, err := b.checked()
	if err != nil {
		return err
	}
	b.LoadBalancer = checked
	return c.checkBalancer(checked)
}

func noLoadBalancer(id string) error {
	return &APIError{StatusCode: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("load balancer %s does not exist", id)}
}

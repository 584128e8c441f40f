package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"k8s.io/klog/v2"
)

func (c *Cloud) staticIP(ctx context.Context, id string, v view) (StaticIP, error) {
	r := seen(ctx, c, c.staticIPs, v, id)
	if r == nil {
		return StaticIP{}, noStaticIP(id)
	}
	return c.shownStaticIPs([]*reserved{r})[0], nil
}

// shownStaticIPs says of each who uses it.
func (c *Cloud) shownStaticIPs(all []*reserved) []StaticIP {
	c.mu.Lock()
	defer c.mu.Unlock()
	users := map[string]string{}
	for _, b := range c.loadBalancers.rows {
		users[b.StaticIP] = b.ID
	}
	shown := make([]StaticIP, len(all))
	for n, r := range all {
		shown[n] = r.StaticIP
		shown[n].LoadBalancer = users[r.ID]
	}
	return shown
}

func (c *Cloud) createStaticIP(ctx context.Context, wanted StaticIP) (StaticIP, error) {
	switch {
	case wanted.ID != "":
		return wanted, invalid("id", "must be empty; the cloud gives it")
	case wanted.LoadBalancer != "":
		return wanted, invalid("loadBalancer", "must be empty; a load balancer names its static IP")
	}
	wanted, err := wanted.checked()
	if err != nil {
		return wanted, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	if err := c.checkStaticIP(wanted); err != nil {
		return wanted, err
	}
	if wanted.Address == "" {
		if wanted.Address, err = c.freeBalancerAddress(ctx); err != nil {
			return wanted, err
		}
	}
	c.lastStaticIP++
	wanted.ID = staticIPIDs.id(c.lastStaticIP)
	if err := commit(c, now, c.staticIPs, wanted.ID, &reserved{StaticIP: wanted, Created: now}); err != nil {
		c.lastStaticIP--
		return wanted, err
	}
	klog.FromContext(ctx).Info("Static IP reserved", "staticIP", wanted.ID, "name", wanted.Name, "address", wanted.Address)
	return wanted, nil
}

// checked is the static IP in the form in which it is kept, or the first thing
// that is wrong with it.
func (s StaticIP) checked() (StaticIP, error) {
	if err := checkWord("name", s.Name); err != nil {
		return s, err
	}
	if s.Address == "" {
		return s, nil
	}
	ip, err := netip.ParseAddr(s.Address)
	if err != nil || !balancerAddresses.has(ip.Unmap()) {
		return s, invalid("address", "%q is none of the addresses for load balancers, %s", s.Address, balancerAddresses)
	}
	s.Address = ip.Unmap().String()
	return s, nil
}

// checkStaticIP checks a new static IP against everything else. c.mu is held.
func (c *Cloud) checkStaticIP(s StaticIP) error {
	for _, other := range c.staticIPs.rows {
		if other.Name == s.Name {
			return conflict(CodeAlreadyExists, "the name %s belongs to static IP %s", s.Name, other.ID)
		}
	}
	if user := c.addressUser(s.Address); s.Address != "" && user != "" {
		return conflict(CodeConflict, "%s belongs to %s", s.Address, user)
	}
	return nil
}

// addressUser says whose an address of the load balancers is; empty if nobody
// has it. c.mu is held.
func (c *Cloud) addressUser(address string) string {
	for _, r := range c.staticIPs.rows {
		if r.Address == address {
			return "static IP " + r.ID
		}
	}
	for _, b := range c.loadBalancers.rows {
		if b.Address == address {
			return "load balancer " + b.ID
		}
	}
	if m := c.holder(address, ""); m != nil {
		return "instance " + m.ID
	}
	return ""
}

// freeBalancerAddress is an address that no load balancer has had for as long
// as there are others. c.mu is held.
func (c *Cloud) freeBalancerAddress(ctx context.Context) (string, error) {
	ip, err := balancerAddresses.free(c.lastLoadBalancer+c.lastStaticIP, func(ip netip.Addr) bool {
		return c.theirs(ctx, ip) || c.addressUser(ip.String()) != ""
	})
	if err != nil {
		return "", conflict(CodeConflict, "%v", err)
	}
	return ip.String(), nil
}

func (c *Cloud) releaseStaticIP(ctx context.Context, id string, v view) (StaticIP, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	r := c.staticIPs.row(id)
	if r == nil || v.hides(r.identity(), now) {
		return StaticIP{}, noStaticIP(id)
	}
	for _, b := range c.loadBalancers.rows {
		if b.StaticIP == id {
			return r.StaticIP, conflict(CodeConflict, "static IP %s is used by load balancer %s (%s)", id, b.ID, b.Name)
		}
	}
	if err := commit(c, now, c.staticIPs, id, nil); err != nil {
		return r.StaticIP, err
	}
	klog.FromContext(ctx).Info("Static IP released", "staticIP", id, "name", r.Name, "address", r.Address)
	return r.StaticIP, nil
}

// restorableStaticIP says why a static IP could not have been saved. c.mu is
// held.
func (c *Cloud) restorableStaticIP(r *reserved) error {
	if err := restorable(staticIPIDs, r.ID, c.lastStaticIP, c.staticIPs); err != nil {
		return err
	}
	if r.Address == "" || r.LoadBalancer != "" {
		return errors.New("address: must be there, and loadBalancer must not")
	}
	checked, err := r.checked()
	if err != nil {
		return err
	}
	r.StaticIP = checked
	return c.checkStaticIP(checked)
}

func noStaticIP(id string) error {
	return &APIError{StatusCode: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("static IP %s does not exist", id)}
}

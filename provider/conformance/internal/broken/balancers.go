package broken

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// MaxBackends is the largest number of backends of a load balancer.
const MaxBackends = 4

// balancer is a load balancer of the cloud.
type balancer struct {
	conformance.LoadBalancer

	cluster string
	uid     types.UID
	service string
	ready   bool
	address string
}

// group is a resource that the cloud has for each port of a load balancer.
type group struct {
	id, cluster string
	uid         types.UID
	port        int32
}

// quotaError is the cloud's answer that a quota is used up.
type quotaError struct {
	StatusCode int
	Code       string
}

func (e *quotaError) Error() string {
	return fmt.Sprintf("the cloud answered %d %s", e.StatusCode, e.Code)
}

var errQuota = &quotaError{StatusCode: http.StatusForbidden, Code: "QuotaExceeded"}

// errTaken is the cloud's answer that another load balancer has the name, or that
// another route has the destination.
var errTaken = &apiError{StatusCode: http.StatusConflict}

// listBalancers is the API's call to list load balancers. It returns those that the given
// function accepts.
func (c *Cloud) listBalancers(ctx context.Context, match func(balancer) bool) (found []balancer, err error) {
	lies, err := c.call(ctx, list, func() error {
		for _, b := range c.balancers {
			if match(*b) {
				found = append(found, *b)
			}
		}
		return nil
	})
	if lies == conformance.FaultEmptyList || lies == conformance.FaultTruncatedList {
		found = nil
	}
	return found, err
}

// createBalancer is the API's call to create a load balancer. Names are unique.
func (c *Cloud) createBalancer(ctx context.Context, wanted balancer) (made balancer, err error) {
	_, err = c.call(ctx, write, func() error {
		if slices.ContainsFunc(c.balancers, func(b *balancer) bool { return b.Name == wanted.Name }) {
			return errTaken
		}
		if len(wanted.Backends) > MaxBackends {
			return errQuota
		}
		c.created++
		wanted.ID, wanted.address = fmt.Sprintf("lb-%06d", c.created), fmt.Sprintf("198.51.100.%d", c.created%250+1)
		if wanted.wantsAddress() {
			wanted.address = wanted.Other["address"]
		}
		c.balancers = append(c.balancers, &wanted)
		made = wanted
		return nil
	})
	return made, err
}

// wantsAddress reports whether the load balancer asks for a reserved address.
func (b *balancer) wantsAddress() bool { return b.Other["address"] != "" }

// updateBalancer is the API's call to change a load balancer.
func (c *Cloud) updateBalancer(ctx context.Context, id string, change func(*balancer)) error {
	_, err := c.call(ctx, write, func() error {
		for _, b := range c.balancers {
			if b.ID != id {
				continue
			}
			changed := *b
			change(&changed)
			if len(changed.Backends) > MaxBackends {
				return errQuota
			}
			*b = changed
			return nil
		}
		return &apiError{StatusCode: http.StatusNotFound}
	})
	return err
}

// deleteBalancer is the API's call to delete a load balancer.
func (c *Cloud) deleteBalancer(ctx context.Context, id string) error {
	_, err := c.call(ctx, write, func() error {
		before := len(c.balancers)
		c.balancers = slices.DeleteFunc(c.balancers, func(b *balancer) bool { return b.ID == id })
		if len(c.balancers) == before {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		return nil
	})
	return err
}

// listGroups, createGroup and deleteGroup are the API's calls for groups.
func (c *Cloud) listGroups(ctx context.Context, cluster string, uid types.UID) (found []group, err error) {
	_, err = c.call(ctx, list, func() error {
		for _, g := range c.groups {
			if g.cluster == cluster && g.uid == uid {
				found = append(found, g)
			}
		}
		return nil
	})
	return found, err
}

func (c *Cloud) createGroup(ctx context.Context, g group) error {
	_, err := c.call(ctx, write, func() error {
		c.created++
		g.id = fmt.Sprintf("g-%06d", c.created)
		c.groups = append(c.groups, g)
		return nil
	})
	return err
}

func (c *Cloud) deleteGroup(ctx context.Context, id string) error {
	_, err := c.call(ctx, write, func() error {
		c.groups = slices.DeleteFunc(c.groups, func(g group) bool { return g.id == id })
		return nil
	})
	return err
}

// provision makes the load balancer ready, unless a hold prevents that. It reports
// whether the load balancer was ready before the call. This is the last step of
// EnsureLoadBalancer, so a new load balancer is not ready at first.
func (c *Cloud) provision(id string) (ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.balancers {
		if b.ID == id {
			ready, b.ready = b.ready, !c.held
		}
	}
	return ready
}

package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// brokenMaxBackends is the largest number of backends of a load balancer.
const brokenMaxBackends = 4

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

// createBalancer is the API's call to create a load balancer. Names are unique.
func (c *brokenCloud) createBalancer(ctx context.Context, wanted balancer) (made balancer, err error) {
	_, err = c.call(ctx, write, func() error {
		if slices.ContainsFunc(c.balancers, func(b balancer) bool { return b.Name == wanted.Name }) {
			return errTaken
		}
		if len(wanted.Backends) > brokenMaxBackends {
			return errQuota
		}
		c.created++
		wanted.ID, wanted.address = fmt.Sprintf("lb-%06d", c.created), fmt.Sprintf("198.51.100.%d", c.created%250+1)
		if wanted.wantsAddress() {
			wanted.address = wanted.Other["address"]
		}
		c.balancers = append(c.balancers, wanted)
		made = wanted
		return nil
	})
	return made, err
}

// wantsAddress reports whether the load balancer asks for a reserved address.
func (b *balancer) wantsAddress() bool { return b.Other["address"] != "" }

// updateBalancer is the API's call to change a load balancer.
func (c *brokenCloud) updateBalancer(ctx context.Context, id string, change func(*balancer)) error {
	_, err := c.call(ctx, write, func() error {
		at := slices.IndexFunc(c.balancers, func(b balancer) bool { return b.ID == id })
		if at < 0 {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		changed := c.balancers[at]
		if change(&changed); len(changed.Backends) > brokenMaxBackends {
			return errQuota
		}
		c.balancers[at] = changed
		return nil
	})
	return err
}

func (c *brokenCloud) createGroup(ctx context.Context, g group) error {
	_, err := c.call(ctx, write, func() error {
		c.created++
		g.id = fmt.Sprintf("g-%06d", c.created)
		c.groups = append(c.groups, g)
		return nil
	})
	return err
}

// provision makes the load balancer ready, unless a hold prevents that. It reports
// whether the load balancer was ready before the call. This is the last step of
// EnsureLoadBalancer, so a new load balancer is not ready at first.
func (c *brokenCloud) provision(id string) (ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.balancers {
		if b := &c.balancers[n]; b.ID == id {
			ready, b.ready = b.ready, !c.held
		}
	}
	return ready
}

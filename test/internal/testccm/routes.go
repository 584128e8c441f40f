package main

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// Routes implements cloudprovider.Interface.
func (c *cloud) Routes() (cloudprovider.Routes, bool) {
	inner, supported := c.Interface.Routes()
	return hinted{inner}, supported
}

// hinted logs the name hints of CreateRoute, because the simulated provider ignores
// them.
type hinted struct{ cloudprovider.Routes }

// CreateRoute implements cloudprovider.Routes.
func (h hinted) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	klog.InfoS("Asked for a route", "destination", route.DestinationCIDR, "hint", hint)
	return h.Routes.CreateRoute(ctx, cluster, hint, route)
}

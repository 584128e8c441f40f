// Package opaque has two providers for the simulated cloud. As in the providers of many
// vendors, errors about instances,
// load balancers and routes lose their type and thus their status.
// With the provider "simulated-text", errors keep their text. With
// "simulated-unreadable", all errors have the same text.
//
// Errors that wrap InstanceNotFound, NotImplemented, a RetryError or an error of a context
// stay unchanged.
package opaque

import (
	"context"
	"errors"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
)

// The names of the providers.
const (
	Text       = "simulated-text"
	Unreadable = "simulated-unreadable"
)

var errUnreadable = errors.New("the request has failed")

func init() { //nolint:gochecknoinits // the contract asks a provider to register itself on import
	register(Text, func(err error) error { return errors.New(err.Error()) })
	register(Unreadable, func(error) error { return errUnreadable })
}

func register(name string, opaque func(error) error) {
	cloudprovider.RegisterCloudProvider(name, func(config io.Reader) (cloudprovider.Interface, error) {
		inner, err := simulated.New(config)
		if err != nil {
			return nil, err
		}
		return &cloud{Interface: inner, opaque: opaque}, nil
	})
}

// cloud is the provider. For instances, load balancers and routes, it offers only the
// interfaces of k8s.io/cloud-provider.
type cloud struct {
	cloudprovider.Interface

	opaque func(error) error
}

// shown converts an error of the simulated provider into the error that this provider
// returns.
func (c *cloud) shown(err error) error {
	known := []error{cloudprovider.InstanceNotFound, cloudprovider.NotImplemented, context.Canceled, context.DeadlineExceeded}
	if err == nil || slices.ContainsFunc(known, func(known error) bool { return errors.Is(err, known) }) {
		return err
	}
	if _, isRetry := errors.AsType[*api.RetryError](err); isRetry {
		return err
	}
	return c.opaque(err)
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	inner, offered := c.Interface.InstancesV2()
	return instances{c, inner}, offered
}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	inner, offered := c.Interface.LoadBalancer()
	return loadBalancers{c, inner}, offered
}

func (c *cloud) Routes() (cloudprovider.Routes, bool) {
	inner, offered := c.Interface.Routes()
	return routes{c, inner}, offered
}

type instances struct {
	cloud *cloud
	inner cloudprovider.InstancesV2
}

func (i instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := i.inner.InstanceExists(ctx, node)
	return exists, i.cloud.shown(err)
}

func (i instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	shutDown, err := i.inner.InstanceShutdown(ctx, node)
	return shutDown, i.cloud.shown(err)
}

func (i instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := i.inner.InstanceMetadata(ctx, node)
	return metadata, i.cloud.shown(err)
}

type loadBalancers struct {
	cloud *cloud
	inner cloudprovider.LoadBalancer
}

func (l loadBalancers) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	status, exists, err := l.inner.GetLoadBalancer(ctx, cluster, service)
	return status, exists, l.cloud.shown(err)
}

func (l loadBalancers) GetLoadBalancerName(ctx context.Context, cluster string, service *corev1.Service) string {
	return l.inner.GetLoadBalancerName(ctx, cluster, service)
}

func (l loadBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	status, err := l.inner.EnsureLoadBalancer(ctx, cluster, service, nodes)
	return status, l.cloud.shown(err)
}

func (l loadBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	return l.cloud.shown(l.inner.UpdateLoadBalancer(ctx, cluster, service, nodes))
}

func (l loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	return l.cloud.shown(l.inner.EnsureLoadBalancerDeleted(ctx, cluster, service))
}

type routes struct {
	cloud *cloud
	inner cloudprovider.Routes
}

func (r routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	listed, err := r.inner.ListRoutes(ctx, cluster)
	return listed, r.cloud.shown(err)
}

func (r routes) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	return r.cloud.shown(r.inner.CreateRoute(ctx, cluster, hint, route))
}

func (r routes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	return r.cloud.shown(r.inner.DeleteRoute(ctx, cluster, route))
}

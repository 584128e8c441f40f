package conformance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// These types wrap the provider's LoadBalancer and Routes for checks that change the
// cloud (Check.Writes). Before the provider creates something, they write it into the
// ledger. Once the provider has deleted it, they remove it from the ledger. Their Unwrap
// methods give access to the optional interfaces of the provider.
type (
	listedLoadBalancer struct {
		cloudprovider.LoadBalancer

		t *trial
	}
	listedRoutes struct {
		cloudprovider.Routes

		t *trial
	}
)

// Unwrap implements provider.Unwrapper.
func (l listedLoadBalancer) Unwrap() cloudprovider.LoadBalancer { return l.LoadBalancer }

// Unwrap implements provider.Unwrapper.
func (r listedRoutes) Unwrap() cloudprovider.Routes { return r.Routes }

// optional returns the optional interface of a part of the provider, even if one of the
// types above wraps that part.
func optional[T, Part any](part Part) (found T, ok bool) {
	if wrapper, wrapped := any(part).(interface{ Unwrap() Part }); wrapped {
		part = wrapper.Unwrap()
	}
	found, ok = any(part).(T)
	return found, ok
}

// EnsureLoadBalancer writes the load balancer into the ledger and creates it.
func (l listedLoadBalancer) EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if err := l.list(cluster, s); err != nil {
		return nil, err
	}
	return l.LoadBalancer.EnsureLoadBalancer(ctx, cluster, s, nodes)
}

// UpdateLoadBalancer writes the load balancer into the ledger before it calls the
// provider. Some providers create the load balancer in this call, although they must
// not.
func (l listedLoadBalancer) UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	if err := l.list(cluster, s); err != nil {
		return err
	}
	return l.LoadBalancer.UpdateLoadBalancer(ctx, cluster, s, nodes)
}

// EnsureLoadBalancerDeleted deletes the load balancer and removes it from the
// ledger.
func (l listedLoadBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error {
	if err := l.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, s); err != nil {
		return err
	}
	return l.t.unlist(Entry{Kind: KindLoadBalancer, Name: string(s.UID), Cluster: cluster})
}

func (l listedLoadBalancer) list(cluster string, s *corev1.Service) error {
	if s == nil {
		return nil
	}
	return l.t.enlist(Entry{Kind: KindLoadBalancer, Name: string(s.UID), Cluster: cluster, Service: s.DeepCopy()})
}

// CreateRoute writes the route into the ledger and creates it.
func (r listedRoutes) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	if route != nil {
		copied := *route
		if err := r.t.enlist(Entry{Kind: KindRoute, Name: routeKey(copied), Cluster: cluster, Route: &copied}); err != nil {
			return err
		}
	}
	return r.Routes.CreateRoute(ctx, cluster, hint, route)
}

// DeleteRoute deletes the route and removes it from the ledger.
func (r listedRoutes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	if err := r.Routes.DeleteRoute(ctx, cluster, route); err != nil || route == nil {
		return err
	}
	return r.t.unlist(Entry{Kind: KindRoute, Name: routeKey(*route), Cluster: cluster})
}

func routeKey(r cloudprovider.Route) string { return string(r.TargetNode) + " " + r.DestinationCIDR }

// enlist writes a thing into the ledger before the provider creates it.
func (t *trial) enlist(e Entry) error {
	t.mu.Lock()
	_, known := t.listed[e.key()]
	t.mu.Unlock()
	if known {
		return nil
	}
	e.Check = t.check.ID
	if ledger := t.suite.options.Ledger; ledger != nil {
		if err := ledger.Begin(e); err != nil {
			return fmt.Errorf("ledger: %w; nothing was created", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed[e.key()] = e
	return nil
}

// unlist removes a thing from the ledger after it is gone.
func (t *trial) unlist(e Entry) error {
	t.mu.Lock()
	listed, known := t.listed[e.key()]
	delete(t.listed, e.key())
	t.mu.Unlock()
	if !known {
		return nil
	}
	return t.ended(listed)
}

package cloud

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// LoadBalancers are the provider's load balancers. Calls about the same Service
// never overlap, even if one of them has outlived its deadline.
type LoadBalancers struct {
	gateway     *Gateway
	theirs      cloudprovider.LoadBalancer
	clusterName string
	concurrency int
	changes     changes
	setter      provider.BackendSetter // nil: each call is about one Service
	most        int                    // the maximum number of Services in a call of setter
	maxBackends int                    // 0: no limit is known
	many        manyChanges
}

// newLoadBalancers returns nil if the provider does not offer load balancers.
func newLoadBalancers(g *Gateway, found parts, cfg Config) *LoadBalancers {
	if found.loadBalancers == nil {
		return nil
	}
	l := &LoadBalancers{
		gateway:     g,
		theirs:      found.loadBalancers,
		clusterName: cfg.ClusterName,
		concurrency: max(g.concurrency.LoadBalancers, 1),
		changes:     changes{gateway: g, timeout: cfg.ChangeTimeout},
	}
	l.many.changes = &l.changes
	if l.setter = found.setter; l.setter != nil {
		l.most = max(l.setter.MaxBackendServices(), 0)
	}
	if found.limit != nil {
		l.maxBackends = max(found.limit.MaxBackends(), 0)
	}
	if found.concurrent != nil {
		l.concurrency = max(found.concurrent.MaxConcurrentServices(), 1)
	}
	return l
}

// Concurrency returns the number of Services for which the provider may be called
// at the same time.
func (l *LoadBalancers) Concurrency() int { return l.concurrency }

// MaxBackends returns the largest number of nodes behind a load balancer, or 0 if the provider
// declares none.
func (l *LoadBalancers) MaxBackends() int { return l.maxBackends }

var errNoStatus = errors.New("service status returned by EnsureLoadBalancer is nil")

// Ensure creates the Service's load balancer, or updates it. The provider gets
// copies of the nodes.
func (l *LoadBalancers) Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	c := call{method: "EnsureLoadBalancer", priority: highPriority, names: namesOfService(service), tenant: service.Namespace}
	var status *corev1.LoadBalancerStatus
	err := l.changes.change(ctx, c, key(service), func(ctx context.Context) error {
		theirs, err := l.theirs.EnsureLoadBalancer(ctx, l.clusterName, given(service), copies(nodes))
		if err == nil && theirs == nil {
			err = errNoStatus
		}
		status = theirs.DeepCopy()
		return err
	})
	if err != nil {
		return nil, err // The variable status must not be read, because an abandoned call may still write it.
	}
	return status, nil
}

// Update sets the backends of the Service's load balancer. The provider gets copies
// of the nodes.
func (l *LoadBalancers) Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error {
	c := call{method: "UpdateLoadBalancer", priority: updatePriority, names: namesOfService(service), tenant: service.Namespace}
	return l.changes.change(ctx, c, key(service), func(ctx context.Context) error {
		return l.theirs.UpdateLoadBalancer(ctx, l.clusterName, given(service), copies(nodes))
	})
}

// Delete deletes the Service's load balancer, if there is one.
func (l *LoadBalancers) Delete(ctx context.Context, service *corev1.Service) error {
	c := call{method: "EnsureLoadBalancerDeleted", priority: highPriority, names: namesOfService(service), tenant: service.Namespace}
	return l.changes.change(ctx, c, key(service), func(ctx context.Context) error {
		return l.theirs.EnsureLoadBalancerDeleted(ctx, l.clusterName, given(service))
	})
}

// Find reports whether the cloud finds the Service's load balancer. It returns an error
// if the answer came after the deadline. No other call about the Service overlaps it.
func (l *LoadBalancers) Find(ctx context.Context, service *corev1.Service) (exists bool, err error) {
	c := call{method: "GetLoadBalancer", priority: highPriority, names: namesOfService(service), tenant: service.Namespace}
	found := false
	err = l.changes.change(ctx, c, key(service), func(ctx context.Context) error {
		_, present, err := l.theirs.GetLoadBalancer(ctx, l.clusterName, given(service))
		found, err = inTime(ctx, present, err)
		return err
	})
	return err == nil && found, err // The variable found must not be read after an error, because an abandoned call may still write it.
}

// key returns the Service's namespace and name. It does not return the UID,
// because a provider might use the same load balancer for a new Service with the
// same name.
func key(service *corev1.Service) string {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}.String()
}

// copies returns copies of the nodes, for one call. The provider may change the
// copies, and may keep them after the deadline of the call. So no two calls share a
// copy. The copies are made only when the call begins, because 5,000 of them take
// about 10 MB and hundreds of calls may wait.
func copies(nodes []*corev1.Node) []*corev1.Node {
	all := make([]*corev1.Node, len(nodes))
	for n, node := range nodes {
		all[n] = node.DeepCopy()
	}
	return all
}

// given returns a copy of the Service for the provider, without managed fields. The
// cache has only a part of the managed fields, and the provider might write the Service
// back. Without managed fields, such a write leaves those in the API server as they
// are.
func given(service *corev1.Service) *corev1.Service {
	service = service.DeepCopy()
	service.ManagedFields = nil
	return service
}

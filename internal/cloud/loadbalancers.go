package cloud

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// LoadBalancers are the provider's load balancers. Calls about one Service
// never overlap, also where one has outlived its deadline.
type LoadBalancers struct {
	gateway     *Gateway
	theirs      cloudprovider.LoadBalancer
	clusterName string
	concurrency int
	changes     changes
}

// newLoadBalancers returns nil if the provider offers none.
func newLoadBalancers(g *Gateway, p cloudprovider.Interface, cfg Config) *LoadBalancers {
	theirs := offered(p.LoadBalancer())
	if theirs == nil {
		return nil
	}
	l := &LoadBalancers{
		gateway:     g,
		theirs:      theirs,
		clusterName: cfg.ClusterName,
		concurrency: 1,
		changes:     changes{gateway: g, timeout: cfg.ChangeTimeout},
	}
	if c, ok := theirs.(provider.ConcurrentLoadBalancer); ok {
		l.concurrency = max(c.MaxConcurrentServices(), 1)
	}
	return l
}

// Concurrency is for how many Services the provider may be called at once.
func (l *LoadBalancers) Concurrency() int { return l.concurrency }

var errNoStatus = errors.New("service status returned by EnsureLoadBalancer is nil")

// Ensure creates the Service's load balancer, or brings it in line. The nodes
// are shared with other calls, the list is not.
func (l *LoadBalancers) Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	const call = "EnsureLoadBalancer"
	var status *corev1.LoadBalancerStatus
	err := l.changes.change(urgently(ctx), call, key(service), func(ctx context.Context) error {
		theirs, err := l.theirs.EnsureLoadBalancer(ctx, l.clusterName, service.DeepCopy(), slices.Clone(nodes))
		if err == nil && theirs == nil {
			err = errNoStatus
		}
		status = theirs.DeepCopy()
		return err
	})
	if err != nil {
		return nil, err // A call that has not returned may still write status.
	}
	return status, nil
}

// Update brings the backends of the Service's load balancer in line.
func (l *LoadBalancers) Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error {
	return l.changes.change(ctx, "UpdateLoadBalancer", key(service), func(ctx context.Context) error {
		return l.theirs.UpdateLoadBalancer(ctx, l.clusterName, service.DeepCopy(), slices.Clone(nodes))
	})
}

// Delete deletes the Service's load balancer, if there is one.
func (l *LoadBalancers) Delete(ctx context.Context, service *corev1.Service) error {
	return l.changes.change(urgently(ctx), "EnsureLoadBalancerDeleted", key(service), func(ctx context.Context) error {
		return l.theirs.EnsureLoadBalancerDeleted(ctx, l.clusterName, service.DeepCopy())
	})
}

// key is the Service's name and not its UID: a Service that was recreated under
// its name may mean the same load balancer to the provider.
func key(service *corev1.Service) string {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}.String()
}

package quirks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
)

// balancers is a LoadBalancer with one quirk. Each function that is not nil replaces
// the corresponding method.
type balancers struct {
	cloudprovider.LoadBalancer

	ensure func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	update func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error
	remove func(ctx context.Context, cluster string, service *corev1.Service) error
}

func (b balancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if b.ensure != nil {
		return b.ensure(ctx, cluster, service, nodes)
	}
	return b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, service, nodes)
}

func (b balancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	if b.update != nil {
		return b.update(ctx, cluster, service, nodes)
	}
	return b.LoadBalancer.UpdateLoadBalancer(ctx, cluster, service, nodes)
}

func (b balancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	if b.remove != nil {
		return b.remove(ctx, cluster, service)
	}
	return b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, service)
}

// beforeChange wraps inner so that f runs before each change of a load balancer. If
// f returns an error, the change fails with that error.
func beforeChange(inner cloudprovider.LoadBalancer, f func(context.Context, *corev1.Service) error) cloudprovider.LoadBalancer {
	return balancers{
		LoadBalancer: inner,
		ensure: func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			if err := f(ctx, service); err != nil {
				return nil, err
			}
			return inner.EnsureLoadBalancer(ctx, cluster, service, nodes)
		},
		update: func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
			if err := f(ctx, service); err != nil {
				return err
			}
			return inner.UpdateLoadBalancer(ctx, cluster, service, nodes)
		},
		remove: func(ctx context.Context, cluster string, service *corev1.Service) error {
			if err := f(ctx, service); err != nil {
				return err
			}
			return inner.EnsureLoadBalancerDeleted(ctx, cluster, service)
		},
	}
}

// addressIsWrittenAfter is the delay after which EchoesStatus writes the address.
const addressIsWrittenAfter = time.Second

// EchoesStatus makes EnsureLoadBalancer return the status that the Service already has.
// The quirk writes the address later with its own client, as Azure's service gateway
// and kube-vip do.
var EchoesStatus = Quirk{Name: "EchoesStatus", apply: func(p *Provider) {
	if p.balancers == nil {
		return
	}
	inner := p.balancers
	p.balancers = balancers{LoadBalancer: inner, ensure: func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		status, err := inner.EnsureLoadBalancer(ctx, cluster, service, nodes)
		if err != nil {
			return nil, err
		}
		go p.writeAddress(context.WithoutCancel(ctx), service, status)
		return service.Status.LoadBalancer.DeepCopy(), nil
	}}
}}

// writeAddress writes the status of a Service after a moment. It retries for at most a
// minute. It stops as soon as it succeeds, or finds that the Service is being deleted or
// was replaced.
func (p *Provider) writeAddress(ctx context.Context, service *corev1.Service, status *corev1.LoadBalancerStatus) {
	if p.kube() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	services := p.kube().CoreV1().Services(service.Namespace)
	_ = wait.PollUntilContextCancel(ctx, addressIsWrittenAfter, false, func(ctx context.Context) (bool, error) {
		current, err := services.Get(ctx, service.Name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // it tries again
		}
		if current.UID != service.UID || current.DeletionTimestamp != nil {
			return true, nil
		}
		current.Status.LoadBalancer = *status.DeepCopy()
		_, err = services.UpdateStatus(ctx, current, metav1.UpdateOptions{FieldManager: "quirks"})
		return err == nil, nil
	})
}

// DeletesByAddress finds the load balancer to delete only by the address in the
// Service's status, as Linode does. Without an address it deletes nothing and
// reports success.
var DeletesByAddress = Quirk{Name: "DeletesByAddress", apply: func(p *Provider) {
	if p.balancers == nil {
		return
	}
	inner := p.balancers
	p.balancers = balancers{LoadBalancer: inner, remove: func(ctx context.Context, cluster string, service *corev1.Service) error {
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return nil
		}
		return inner.EnsureLoadBalancerDeleted(ctx, cluster, service)
	}}
}}

// JoinsElsewhere fails the first deletion for each Service. The error has
// ImplementedElsewhere beside the failure, as a provider with several parts may join what
// its parts return.
var JoinsElsewhere = Quirk{Name: "JoinsElsewhere", apply: func(p *Provider) {
	if p.balancers == nil {
		return
	}
	inner := p.balancers
	var mu sync.Mutex
	failed := map[types.UID]bool{} // guarded by mu
	p.balancers = balancers{LoadBalancer: inner, remove: func(ctx context.Context, cluster string, service *corev1.Service) error {
		mu.Lock()
		again := failed[service.UID]
		failed[service.UID] = true
		mu.Unlock()
		if !again {
			return errors.Join(&StatusError{Status: http.StatusServiceUnavailable, Text: "unavailable"}, cloudprovider.ImplementedElsewhere)
		}
		return inner.EnsureLoadBalancerDeleted(ctx, cluster, service)
	}}
}}

// QuotesService adds the Service's name and all its annotations to each error.
var QuotesService = Quirk{Name: "QuotesService", apply: func(p *Provider) {
	if p.balancers == nil {
		return
	}
	inner := p.balancers
	quote := func(service *corev1.Service, err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("service %s/%s with annotations %v: %w", service.Namespace, service.Name, service.Annotations, err)
	}
	p.balancers = balancers{
		LoadBalancer: inner,
		ensure: func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			status, err := inner.EnsureLoadBalancer(ctx, cluster, service, nodes)
			return status, quote(service, err)
		},
		update: func(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
			return quote(service, inner.UpdateLoadBalancer(ctx, cluster, service, nodes))
		},
		remove: func(ctx context.Context, cluster string, service *corev1.Service) error {
			return quote(service, inner.EnsureLoadBalancerDeleted(ctx, cluster, service))
		},
	}
}}

// throttledInsideFor is the time for which ThrottlesInside sleeps in a call.
const throttledInsideFor = 3 * time.Minute

// ThrottlesInside sleeps for minutes inside each change of a load balancer, like an
// SDK whose client-side limiter holds requests back.
var ThrottlesInside = Quirk{Name: "ThrottlesInside", apply: func(p *Provider) {
	if p.balancers != nil {
		p.balancers = beforeChange(p.balancers, func(ctx context.Context, _ *corev1.Service) error {
			timer := time.NewTimer(throttledInsideFor)
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
}}

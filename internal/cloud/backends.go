package cloud

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// ofManyTenants is the value of call.tenant for a call about Services of several
// namespaces.
const ofManyTenants = "*"

// MaxUpdates returns the maximum number of Services that UpdateMany can take now. It is
// 0 if the provider is not a BackendSetter. It is also 0 for a while after a call of
// UpdateMany has failed as a whole, and while a call about a load balancer hangs past
// its deadline.
func (l *LoadBalancers) MaxUpdates() int {
	if l.many.oneByOne() {
		return 0
	}
	return l.most
}

// UpdateMany sets the backends of the load balancers of several Services with one
// call. The provider gets copies of the nodes. UpdateMany returns one error for
// each Service. The error is nil if the load balancer has the nodes. It is ErrAlone
// if nothing is known about the Service; the caller then has to call Update for it.
func (l *LoadBalancers) UpdateMany(ctx context.Context, services []*corev1.Service, nodes []*corev1.Node) []error {
	const method = "SetBackends"
	c := call{method: method, priority: updatePriority, names: []string{method}, tenant: ofManyTenants, split: true}
	errs := make([]error, len(services))
	var keys []string
	var asked []int // the Services that the call is about
	for n, service := range services {
		if errs[n] = l.gateway.limiter.paused(c.of(service)); errs[n] != nil {
			continue
		}
		if err := l.changes.keys.acquire(key(service), method); err != nil {
			errs[n] = c.failed(Slow, err)
			continue
		}
		keys, asked, c.names = append(keys, key(service)), append(asked, n), append(c.names, namesOfService(service)...)
	}
	if len(asked) == 0 {
		return errs
	}
	if first := services[asked[0]].Namespace; !slices.ContainsFunc(asked, func(n int) bool { return services[n].Namespace != first }) {
		c.tenant = first
	}
	var theirs []provider.BackendResult
	began, err := l.many.carryOut(ctx, c, keys, func(ctx context.Context) error {
		theirServices := make([]*corev1.Service, len(asked))
		for i, n := range asked {
			theirServices[i] = given(services[n])
		}
		results, err := l.setter.SetBackends(ctx, l.clusterName, theirServices, copies(nodes))
		theirs = slices.Clone(results)
		return err
	})
	if err != nil {
		for _, n := range asked {
			errs[n] = err
		}
		return errs
	}
	for i, result := range resultsFor(len(asked), theirs, func(r provider.BackendResult) (int, error) { return r.Service, r.Err }) {
		n := asked[i]
		errs[n] = l.gateway.conclude(ctx, c.of(services[n]), began, result)
	}
	return errs
}

// of returns the part of a call about several Services that is about one of them.
func (c call) of(service *corev1.Service) call {
	c.names, c.tenant, c.split = namesOfService(service), service.Namespace, false
	return c
}

package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// loadBalancers gives each Service its own load balancer. It keeps nothing in
// memory: it finds existing load balancers in the cloud by the tags of their
// owner. So the next call completes what a crash has interrupted.
//
// It trusts the cloud's list. A list that lags behind never causes a second load
// balancer, because names are unique. But it can hide a new load balancer when
// its Service is deleted, and then the load balancer remains.
type loadBalancers struct{ cloud *Cloud }

var _ cloudprovider.LoadBalancer = (*loadBalancers)(nil)

// pendingPause is the delay before a load balancer that is being created is
// checked again.
const pendingPause = 2 * time.Second

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *loadBalancers) GetLoadBalancerName(_ context.Context, cluster string, service *corev1.Service) string {
	return balancerName(cluster, service)
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. A load balancer that
// is still being created exists, but has no address.
func (b *loadBalancers) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	found, err := b.one(ctx, cluster, service)
	if found == nil {
		return nil, false, err
	}
	return status(*found), true, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. While the load
// balancer is being created, it returns an api.RetryError instead of waiting.
func (b *loadBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	wanted, err := wantedBy(cluster, service, backends(ctx, service, nodes))
	if err != nil {
		return nil, err
	}
	if wanted.StaticIP, err = b.staticIP(ctx, service); err != nil {
		return nil, err
	}
	is, err := b.one(ctx, cluster, service)
	if err != nil {
		return nil, err
	}
	if is == nil {
		is, err = b.create(ctx, cluster, service, wanted)
	}
	if err != nil {
		return nil, err
	}
	// A load balancer that was just created may differ, too: create also returns
	// one whose creation reply was lost, and the Service may have changed since.
	patch, changed := difference(*is, wanted)
	if err := b.update(ctx, is, patch, changed); err != nil {
		return nil, err
	}
	if is.State != simulator.LoadBalancerActive {
		return nil, api.NewRetryError(fmt.Sprintf("load balancer %s (%s) is %s", is.ID, is.Name, is.State), pendingPause)
	}
	return status(*is), nil
}

// errNoLoadBalancer is returned by UpdateLoadBalancer if EnsureLoadBalancer has
// to be called first.
var errNoLoadBalancer = errors.New("the load balancer does not exist; it has to be created before its nodes can be updated")

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It changes only the
// backends. If there is no load balancer, it returns an error. Other providers
// may return nil then, but the caller expects a load balancer and should learn
// that it does not exist.
func (b *loadBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	is, err := b.one(ctx, cluster, service)
	if err != nil {
		return err
	}
	if is == nil {
		return errNoLoadBalancer
	}
	wanted := *is
	wanted.Backends = backends(ctx, service, nodes)
	patch, changed := difference(*is, wanted)
	return b.update(ctx, is, patch, changed)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. It deletes
// every load balancer with the Service's tags, whatever its state. A static IP
// is kept.
func (b *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	found, err := b.owned(ctx, cluster, service)
	if err != nil {
		return err
	}
	for _, l := range found {
		_, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (struct{}, error) {
			return struct{}{}, client.DeleteLoadBalancer(ctx, l.ID)
		})
		if err != nil && !simulator.IsNotFound(err) {
			return fmt.Errorf("delete load balancer %s: %w", l.ID, err)
		}
		klog.FromContext(ctx).Info("Load balancer deleted", "loadBalancer", l.ID, "name", l.Name)
	}
	return nil
}

// owned returns the load balancers with the Service's tags.
func (b *loadBalancers) owned(ctx context.Context, cluster string, service *corev1.Service) ([]simulator.LoadBalancer, error) {
	if service.UID == "" {
		return nil, invalidf("metadata.uid: is empty")
	}
	return b.list(ctx, simulator.LoadBalancerQuery{Tags: ownership(cluster, service)})
}

func (b *loadBalancers) list(ctx context.Context, query simulator.LoadBalancerQuery) ([]simulator.LoadBalancer, error) {
	found, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) ([]simulator.LoadBalancer, error) {
		return client.FindLoadBalancers(ctx, query)
	})
	if err != nil {
		return nil, fmt.Errorf("list load balancers: %w", err)
	}
	return found, nil
}

// one returns the only load balancer with the Service's tags; nil if there is
// none.
func (b *loadBalancers) one(ctx context.Context, cluster string, service *corev1.Service) (*simulator.LoadBalancer, error) {
	found, err := b.owned(ctx, cluster, service)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) == 1:
		return &found[0], nil
	}
	var ids []string
	for _, l := range found {
		ids = append(ids, l.ID)
	}
	return nil, invalidf("%d load balancers have the tags of this Service: %s; delete those that are not needed", len(ids), strings.Join(ids, ", "))
}

// create creates the load balancer. If the name already exists, there are two
// cases. The load balancer may be ours: the reply to its creation was lost, and
// the cloud's list did not show it yet. Or it belongs to another owner.
func (b *loadBalancers) create(ctx context.Context, cluster string, service *corev1.Service, wanted simulator.LoadBalancer) (*simulator.LoadBalancer, error) {
	created, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (simulator.LoadBalancer, error) {
		return client.CreateLoadBalancer(ctx, wanted)
	})
	if err == nil {
		klog.FromContext(ctx).Info("Load balancer created", "loadBalancer", created.ID, "name", created.Name)
		return &created, nil
	}
	if !simulator.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create load balancer %s: %w", wanted.Name, err)
	}
	found, err := b.list(ctx, simulator.LoadBalancerQuery{Names: []string{wanted.Name}})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, api.NewRetryError(fmt.Sprintf("load balancer %s exists, but the cloud does not show it yet", wanted.Name), pendingPause)
	}
	if err := checkOwner("load balancer "+found[0].ID+" has the name "+wanted.Name, found[0].Tags, ownership(cluster, service)); err != nil {
		return nil, err
	}
	return &found[0], nil
}

// checkOwner returns an error if a resource with the wanted name has another
// owner.
func checkOwner(what string, is, wanted map[string]string) error {
	for key, value := range wanted {
		if is[key] != value {
			return invalidf("%s, but its tag %s is %q and not %q: it belongs to something else and is not changed", what, key, is[key], value)
		}
	}
	return nil
}

// update applies a patch if it changes a field. Then it stores the cloud's new
// state in *is.
func (b *loadBalancers) update(ctx context.Context, is *simulator.LoadBalancer, patch simulator.LoadBalancerPatch, changed []string) error {
	if len(changed) == 0 {
		return nil
	}
	updated, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (simulator.LoadBalancer, error) {
		return client.UpdateLoadBalancer(ctx, is.ID, patch)
	})
	if err != nil {
		return fmt.Errorf("update load balancer %s: %w", is.ID, err)
	}
	klog.FromContext(ctx).Info("Load balancer updated", "loadBalancer", is.ID, "name", is.Name, "changed", changed)
	*is = updated
	return nil
}

// staticIP returns the ID of the static IP that the Service wants, or "" if it
// wants none.
func (b *loadBalancers) staticIP(ctx context.Context, service *corev1.Service) (string, error) {
	word, annotated := AnnotationStaticIP.of(service)
	address := service.Spec.LoadBalancerIP
	if !annotated && address == "" {
		return "", nil
	}
	all, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) ([]simulator.StaticIP, error) {
		return client.StaticIPs(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("list static IPs: %w", err)
	}
	byAddress := func(s simulator.StaticIP) bool { return s.Address == address }
	if !annotated {
		if i := slices.IndexFunc(all, byAddress); i >= 0 {
			return all[i].ID, nil
		}
		return "", invalidf("spec.loadBalancerIP: %s is not a static IP that was reserved in this cloud", address)
	}
	i := slices.IndexFunc(all, func(s simulator.StaticIP) bool { return word == s.ID || word == s.Name || word == s.Address })
	switch {
	case i < 0:
		return "", AnnotationStaticIP.refuse("%q is not a static IP that was reserved in this cloud", word)
	case address != "" && !byAddress(all[i]):
		return "", AnnotationStaticIP.refuse("%q has the address %s, and spec.loadBalancerIP says %s", word, all[i].Address, address)
	}
	return all[i].ID, nil
}

// status returns the status of the Service for a load balancer.
func status(l simulator.LoadBalancer) *corev1.LoadBalancerStatus {
	if l.Address == "" {
		return &corev1.LoadBalancerStatus{}
	}
	mode := corev1.LoadBalancerIPModeVIP // the API server's default, so that the stored status equals this one
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: l.Address, IPMode: &mode}}}
}

package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// loadBalancers gives each Service its own load balancer. It keeps nothing in
// memory: it finds existing load balancers in the cloud by the tags of their
// owner. So after a crash, the next call completes the interrupted work.
//
// It trusts the cloud's list. A list that lags behind never causes a second load
// balancer, because names are unique. But if such a list hides a new load
// balancer while its Service is deleted, the load balancer remains.
type loadBalancers struct {
	cloud *Cloud
	most  int // what MaxBackends returns
}

var (
	_ cloudprovider.LoadBalancer = (*loadBalancers)(nil)
	_ provider.BackendLimit      = (*loadBalancers)(nil)
)

// MaxBackends implements provider.BackendLimit. The simulated cloud does not say how many
// backends its load balancers take, so the number is in the configuration.
func (b *loadBalancers) MaxBackends() int { return b.most }

// pendingPause is the delay before the next call about a resource that the
// cloud has not finished or does not show yet.
const pendingPause = 2 * time.Second

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *loadBalancers) GetLoadBalancerName(_ context.Context, cluster string, service *corev1.Service) string {
	return balancerName(cluster, service)
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. A load balancer that
// is still being created exists, but has no address.
func (b *loadBalancers) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	found, err := b.resource(cluster, service).Find(ctx)
	if found == nil {
		return nil, false, err
	}
	shown, err := status(*found)
	return shown, true, err
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. While the load balancer
// is being created, the method returns an api.RetryError instead of waiting.
func (b *loadBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	wanted, err := wantedBy(cluster, service, backends(ctx, service, nodes))
	if err != nil {
		return nil, err
	}
	if wanted.StaticIP, err = b.staticIP(ctx, service); err != nil {
		return nil, err
	}
	is, err := b.making(b.resource(cluster, service), wanted).Ensure(ctx)
	if err != nil {
		return nil, err
	}
	return status(is)
}

// errNoLoadBalancer is the error of UpdateLoadBalancer if EnsureLoadBalancer
// has to be called first.
var errNoLoadBalancer = errors.New("the load balancer does not exist; it has to be created before its nodes can be updated")

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It changes only the
// backends. If there is no load balancer, it returns an error. Some other
// providers return nil in this case. But the caller expects a load balancer,
// and should learn that there is none.
func (b *loadBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	is, err := b.resource(cluster, service).Find(ctx)
	if err != nil {
		return err
	}
	if is == nil {
		return errNoLoadBalancer
	}
	wanted := *is
	wanted.Backends = backends(ctx, service, nodes)
	if _, err = b.change(ctx, *is, wanted); err != nil {
		return fmt.Errorf("update load balancer %s: %w", is.ID, err)
	}
	return nil
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. It deletes
// every load balancer with the Service's tags, in any state. A static IP is
// kept.
func (b *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	return b.resource(cluster, service).Remove(ctx)
}

// resource returns the steps that find and delete the load balancer of a Service.
func (b *loadBalancers) resource(cluster string, service *corev1.Service) kit.Resource[simulator.LoadBalancer] {
	return kit.Resource[simulator.LoadBalancer]{
		Kind:  "load balancer",
		Pause: pendingPause,
		Owned: func(ctx context.Context) ([]simulator.LoadBalancer, error) {
			if service.UID == "" {
				return nil, kit.Invalidf("metadata.uid: is empty")
			}
			return b.list(ctx, simulator.Query{Tags: ownership(cluster, service)})
		},
		Delete: b.delete,
		State: func(l simulator.LoadBalancer) kit.ResourceState {
			state := kit.ResourceState{ID: l.ID + " (" + l.Name + ")"}
			if l.State != simulator.LoadBalancerActive {
				state.Pending = string(l.State)
			}
			return state
		},
	}
}

// making adds the steps that lead to the wanted load balancer: create it, find it
// by its name, and change an existing one.
func (b *loadBalancers) making(r kit.Resource[simulator.LoadBalancer], wanted simulator.LoadBalancer) kit.Resource[simulator.LoadBalancer] {
	r.Create = func(ctx context.Context) (simulator.LoadBalancer, error) { return b.create(ctx, wanted) }
	r.Holder = func(ctx context.Context) ([]simulator.LoadBalancer, error) {
		found, err := b.list(ctx, simulator.Query{Names: []string{wanted.Name}})
		for _, l := range found {
			mark := map[string]string{TagCluster: wanted.Tags[TagCluster], TagServiceUID: wanted.Tags[TagServiceUID]}
			err = kit.Join(err, checkOwner("load balancer "+l.ID+" has the name "+l.Name, l.Tags, mark))
		}
		return found, err
	}
	r.Change = func(ctx context.Context, is simulator.LoadBalancer) (simulator.LoadBalancer, error) {
		return b.change(ctx, is, wanted)
	}
	return r
}

func (b *loadBalancers) list(ctx context.Context, query simulator.Query) ([]simulator.LoadBalancer, error) {
	return ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) ([]simulator.LoadBalancer, error) {
		return client.FindLoadBalancers(ctx, query)
	})
}

func (b *loadBalancers) create(ctx context.Context, wanted simulator.LoadBalancer) (simulator.LoadBalancer, error) {
	created, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (simulator.LoadBalancer, error) {
		return client.CreateLoadBalancer(ctx, wanted)
	})
	switch {
	case simulator.IsAlreadyExists(err):
		return created, fmt.Errorf("%s: %w: %w", wanted.Name, kit.ErrExists, err)
	case err != nil:
		return created, fmt.Errorf("%s: %w", wanted.Name, err)
	}
	klog.FromContext(ctx).Info("Load balancer created", "loadBalancer", created.ID, "name", created.Name)
	return created, nil
}

func (b *loadBalancers) delete(ctx context.Context, l simulator.LoadBalancer) error {
	_, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (struct{}, error) {
		return struct{}{}, client.DeleteLoadBalancer(ctx, l.ID)
	})
	if err != nil && !simulator.IsNotFound(err) {
		return err
	}
	klog.FromContext(ctx).Info("Load balancer deleted", "loadBalancer", l.ID, "name", l.Name)
	return nil
}

// checkOwner returns an error if a resource with the wanted name has another
// owner.
func checkOwner(what string, is, wanted map[string]string) error {
	for key, value := range wanted {
		if is[key] != value {
			return kit.Invalidf("%s, but its tag %s is %q and not %q: it belongs to something else and is not changed", what, key, is[key], value)
		}
	}
	return nil
}

// change changes the fields that differ from wanted, and returns the load
// balancer after the change.
func (b *loadBalancers) change(ctx context.Context, is, wanted simulator.LoadBalancer) (simulator.LoadBalancer, error) {
	patch, changed := difference(is, wanted)
	if len(changed) == 0 {
		return is, nil
	}
	updated, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) (simulator.LoadBalancer, error) {
		return client.UpdateLoadBalancer(ctx, is.ID, patch)
	})
	if err != nil {
		return is, err
	}
	klog.FromContext(ctx).Info("Load balancer updated", "loadBalancer", is.ID, "name", is.Name, "changed", changed)
	return updated, nil
}

// staticIP returns the ID of the static IP that the Service wants, or "" if it
// wants none.
func (b *loadBalancers) staticIP(ctx context.Context, service *corev1.Service) (string, error) {
	annotations := kit.NewAnnotations(service.Annotations, "")
	word, annotated := annotations.Text(string(AnnotationStaticIP))
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
		return "", kit.Invalidf("spec.loadBalancerIP: %s is not a static IP that was reserved in this cloud", address)
	}
	i := slices.IndexFunc(all, func(s simulator.StaticIP) bool { return word == s.ID || word == s.Name || word == s.Address })
	switch {
	case i < 0:
		annotations.Refuse(string(AnnotationStaticIP), "must be the name, ID or address of a static IP that was reserved in this cloud")
	case address != "" && !byAddress(all[i]):
		annotations.Refuse(string(AnnotationStaticIP), "has the address "+all[i].Address+", and spec.loadBalancerIP says "+address)
	default:
		return all[i].ID, nil
	}
	return "", annotations.Err()
}

// status returns the status of the Service for a load balancer.
func status(l simulator.LoadBalancer) (*corev1.LoadBalancerStatus, error) {
	// The API server sets this mode by default, so the stored status equals this one.
	return kit.Status(corev1.LoadBalancerIPModeVIP, l.Address)
}

// settingBalancers is a LoadBalancer that also implements
// provider.BackendSetter.
type settingBalancers struct{ *loadBalancers }

var (
	_ cloudprovider.LoadBalancer = settingBalancers{}
	_ provider.BackendSetter     = settingBalancers{}
)

// MaxBackendServices implements provider.BackendSetter.
func (settingBalancers) MaxBackendServices() int { return simulator.MaxSharedBackends }

// SetBackends implements provider.BackendSetter with one call to the cloud, which
// finds the load balancers by their names.
func (b settingBalancers) SetBackends(ctx context.Context, cluster string, services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
	wanted := simulator.SharedBackends{
		Tags:     map[string]string{TagCluster: cluster},
		Backends: backends(ctx, services[0], nodes),
	}
	for _, service := range services {
		wanted.Names = append(wanted.Names, balancerName(cluster, service))
	}
	errs, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) ([]error, error) {
		return client.SetBackends(ctx, wanted)
	})
	if err != nil {
		return nil, fmt.Errorf("set the backends of %d load balancers: %w", len(services), err)
	}
	results := make([]provider.BackendResult, len(services))
	for n, err := range errs {
		results[n].Service = n
		switch {
		case simulator.IsNotFound(err):
			results[n].Err = errNoLoadBalancer
		case err != nil:
			results[n].Err = fmt.Errorf("update load balancer %s: %w", wanted.Names[n], err)
		}
	}
	klog.FromContext(ctx).Info("Load balancers updated", "loadBalancers", len(services), "backends", len(wanted.Backends))
	return results, nil
}

// manyServices implements provider.ConcurrentLoadBalancer.
type manyServices struct{}

// MaxConcurrentServices implements provider.ConcurrentLoadBalancer. Concurrent
// calls are safe, because Services share nothing.
func (manyServices) MaxConcurrentServices() int { return concurrentServices }

// offering returns the load balancers, together with each optional interface that is
// not switched off.
func (b *loadBalancers) offering(without optional) cloudprovider.LoadBalancer {
	setter := settingBalancers{b}
	switch {
	case without.BackendSetter && without.ConcurrentCalls:
		return b
	case without.BackendSetter:
		return struct {
			*loadBalancers
			manyServices
		}{b, manyServices{}}
	case without.ConcurrentCalls:
		return setter
	default:
		return struct {
			settingBalancers
			manyServices
		}{setter, manyServices{}}
	}
}

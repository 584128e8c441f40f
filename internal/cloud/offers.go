package cloud

import (
	"reflect"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// This file lists everything that a provider can offer. No other file makes type
// assertions on a provider's values, and a test checks that.

// extras has the optional interfaces that the provider itself implements. They
// are known as soon as the provider's factory has returned. A field is nil if the
// provider does not offer that interface.
type extras struct {
	// informers gets the shared informers before the first call.
	informers cloudprovider.InformerUser
	// reloader accepts a new configuration at run time.
	reloader provider.Reloader
	// offerer reports whether the accessors can tell what the provider offers.
	offerer provider.Offerer
	// classifier says what the provider's errors mean.
	classifier provider.ErrorClassifier
	// concurrent declares how many calls of each kind may be made at once.
	concurrent provider.ConcurrentCaller
	// labeler knows the zone and region of volumes.
	labeler cloudprovider.PVLabeler
	// declarer declares which fields of Services have an effect.
	declarer provider.FeatureDeclarer
}

func extrasOf(p cloudprovider.Interface) extras {
	return extras{
		informers:  find[cloudprovider.InformerUser](p),
		reloader:   find[provider.Reloader](p),
		offerer:    find[provider.Offerer](p),
		classifier: find[provider.ErrorClassifier](p),
		concurrent: find[provider.ConcurrentCaller](p, methodInstancesV2, methodInstances, methodZones, methodLoadBalancer, methodRoutes),
		labeler:    find[cloudprovider.PVLabeler](p),
		declarer:   find[provider.FeatureDeclarer](p, methodLoadBalancer),
	}
}

// parts has the interfaces that the accessors of an initialized provider return.
// An accessor that offers nothing is asked again later. A field is nil if the
// provider does not offer that interface, or if nobody needs it. The accessor
// Clusters is never called.
type parts struct {
	// instances describes the instance of one node in each call.
	instances cloudprovider.InstancesV2
	// batcher describes the instances of many nodes in one call.
	batcher provider.InstanceMetadataBatcher
	// lister lists all instances of this cluster.
	lister provider.InstanceLister
	// watcher reports which instances have changed.
	watcher provider.InstanceWatcher
	// terminations knows when a machine was terminated.
	terminations provider.Terminations
	// olderInstances describes one property of an instance in each call. The
	// provider is asked for it only if instances is nil.
	olderInstances cloudprovider.Instances
	// zones describes the zone and the region of an instance. The provider is asked for
	// it only if it offers olderInstances.
	zones cloudprovider.Zones
	// loadBalancers creates, updates and deletes the load balancers of Services.
	loadBalancers cloudprovider.LoadBalancer
	// concurrent declares the number of Services for which loadBalancers may be
	// called at once.
	concurrent provider.ConcurrentLoadBalancer
	// setter gives many load balancers their nodes in one call.
	setter provider.BackendSetter
	// limit declares the largest number of nodes behind a load balancer.
	limit provider.BackendLimit
	// routes lists, creates and deletes the routes to the nodes' pods.
	routes cloudprovider.Routes
	// applier creates and deletes many routes in one call.
	applier provider.RouteApplier
}

func (e *parts) findInstances(p cloudprovider.Interface) {
	if *e = partsOfInstances(offered(p.InstancesV2())); e.instances != nil {
		return
	}
	if e.olderInstances = offered(p.Instances()); e.olderInstances != nil {
		e.zones = offered(p.Zones())
	}
}

func (e *parts) findLoadBalancers(p cloudprovider.Interface) {
	*e = partsOfLoadBalancers(offered(p.LoadBalancer()))
}

func (e *parts) findRoutes(p cloudprovider.Interface) { *e = partsOfRoutes(offered(p.Routes())) }

func partsOfInstances(v cloudprovider.InstancesV2) parts {
	return parts{
		instances:    v,
		batcher:      find[provider.InstanceMetadataBatcher](v, methodInstanceMetadata),
		lister:       find[provider.InstanceLister](v, methodInstanceMetadata),
		watcher:      find[provider.InstanceWatcher](v),
		terminations: find[provider.Terminations](v),
	}
}

func partsOfLoadBalancers(v cloudprovider.LoadBalancer) parts {
	return parts{
		loadBalancers: v,
		concurrent:    find[provider.ConcurrentLoadBalancer](v, methodEnsureLoadBalancer, methodUpdateLoadBalancer, methodEnsureLoadBalancerDeleted),
		setter:        find[provider.BackendSetter](v, methodUpdateLoadBalancer),
		limit:         find[provider.BackendLimit](v),
	}
}

func partsOfRoutes(v cloudprovider.Routes) parts {
	return parts{routes: v, applier: find[provider.RouteApplier](v, methodCreateRoute, methodDeleteRoute)}
}

// find returns the optional interface T of a value. T may be behind wrappers
// (provider.Unwrapper). find returns nil if the value does not offer T. If find returns
// T, the gateway calls T instead of the given methods. So if a wrapper declares one of
// these methods itself, find does not look behind that wrapper. Otherwise the gateway
// would never call the wrapper's method.
func find[T, P any](value P, replaced ...method) T {
	var none T
	current := any(value)
	for range maxWrappers {
		if isNil(reflect.ValueOf(current)) {
			break
		}
		if found, ok := current.(T); ok {
			return found
		}
		wrapper, ok := current.(provider.Unwrapper[P])
		if !ok {
			break
		}
		inner := any(wrapper.Unwrap())
		if !inheritsAll(current, inner, replaced) {
			break
		}
		current = inner
	}
	return none
}

// maxWrappers bounds the number of wrappers that are opened, because a wrapper
// might wrap itself.
const maxWrappers = 16

// offered returns the value if it is supported, and nil otherwise. It also returns nil
// for a typed nil, because a provider that returns one means "not offered".
func offered[T any](value T, supported bool) T { //nolint:revive // flag-parameter: the contract's accessors return this pair
	var none T
	if !supported || isNil(reflect.ValueOf(value)) {
		return none
	}
	return value
}

func isNil(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // all that can be nil
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan, reflect.Interface:
		return v.IsNil()
	default:
		return false
	}
}

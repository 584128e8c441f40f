package cloud

import (
	"reflect"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// This file lists everything that a provider may offer. It is the only file that
// asserts types of a provider's values, and a test checks that.

// extras are the optional interfaces of the provider itself. They are known as
// soon as its factory has returned. A field is nil if the provider does not
// offer it.
type extras struct {
	// informers takes shared informers before the first call.
	informers cloudprovider.InformerUser
	// reloader takes another configuration while it works.
	reloader provider.Reloader
	// offerer reports whether the accessors can tell what the provider offers.
	offerer provider.Offerer
	// classifier says what the provider's errors mean.
	classifier provider.ErrorClassifier
	// concurrent says how many calls of each kind may be made at once.
	concurrent provider.ConcurrentCaller
	// labeler knows the zone and region of volumes.
	labeler cloudprovider.PVLabeler
	// declarer says which fields of Services have an effect.
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

// parts are what the accessors of an initialized provider return. An accessor
// that offers nothing is asked again later. A field is nil if the provider
// does not offer it, or if nobody needs it. The accessor Clusters is never
// called.
type parts struct {
	// instances describes the instance of a node, in one call for each node.
	instances cloudprovider.InstancesV2
	// batcher describes the instances of many nodes in one call.
	batcher provider.InstanceMetadataBatcher
	// lister lists all instances of this cluster.
	lister provider.InstanceLister
	// watcher says which instances have changed.
	watcher provider.InstanceWatcher
	// olderInstances describes an instance in a call for each property. The
	// provider is asked for it only if instances is nil.
	olderInstances cloudprovider.Instances
	// zones adds zone and region to what olderInstances says.
	zones cloudprovider.Zones
	// loadBalancers creates, updates and deletes the load balancers of Services.
	loadBalancers cloudprovider.LoadBalancer
	// concurrent says how many Services loadBalancers may be called for at once.
	concurrent provider.ConcurrentLoadBalancer
	// setter gives many load balancers their nodes in one call.
	setter provider.BackendSetter
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
		instances: v,
		batcher:   find[provider.InstanceMetadataBatcher](v, methodInstanceMetadata),
		lister:    find[provider.InstanceLister](v, methodInstanceMetadata),
		watcher:   find[provider.InstanceWatcher](v),
	}
}

func partsOfLoadBalancers(v cloudprovider.LoadBalancer) parts {
	return parts{
		loadBalancers: v,
		concurrent:    find[provider.ConcurrentLoadBalancer](v, methodEnsureLoadBalancer, methodUpdateLoadBalancer, methodEnsureLoadBalancerDeleted),
		setter:        find[provider.BackendSetter](v, methodUpdateLoadBalancer),
	}
}

func partsOfRoutes(v cloudprovider.Routes) parts {
	return parts{routes: v, applier: find[provider.RouteApplier](v, methodCreateRoute, methodDeleteRoute)}
}

// find returns the optional interface T of a value, which may be behind wrappers
// (provider.Unwrapper). It returns nil if the value does not offer it. T is called in
// place of the replaced methods. If a wrapper has such a method itself, T is not
// looked for behind it, because the wrapper's method would not be called any more.
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

// maxWrappers bounds how many wrappers are opened, because one may wrap itself.
const maxWrappers = 16

// offered returns the value if it is supported, and nil otherwise. The author of a
// typed nil meant "not offered", so offered returns nil for that, too.
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

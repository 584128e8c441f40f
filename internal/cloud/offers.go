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
	// classifier knows what its own errors mean.
	classifier provider.ErrorClassifier
}

func extrasOf(p cloudprovider.Interface) extras {
	var e extras
	e.informers, _ = p.(cloudprovider.InformerUser)
	e.reloader, _ = p.(provider.Reloader)
	e.offerer, _ = p.(provider.Offerer)
	e.classifier, _ = p.(provider.ErrorClassifier)
	return e
}

// parts are what the accessors of an initialized provider return. An accessor
// that says no is asked again later. A field is
// nil if the provider does not offer it, or if nobody needs it. The accessor
// Clusters is never called.
type parts struct {
	// instances describes the instance of a node, in one call for each node.
	instances cloudprovider.InstancesV2
	// batcher describes the instances of many nodes in one call.
	batcher provider.InstanceMetadataBatcher
	// olderInstances describes an instance in a call for each property. The
	// provider is asked for it only if instances is nil.
	olderInstances cloudprovider.Instances
	// zones adds zone and region to what olderInstances says.
	zones cloudprovider.Zones
	// loadBalancers creates, updates and deletes the load balancers of Services.
	loadBalancers cloudprovider.LoadBalancer
	// concurrent says for how many Services loadBalancers may be called at once.
	concurrent provider.ConcurrentLoadBalancer
	// routes lists, creates and deletes the routes to the nodes' pods.
	routes cloudprovider.Routes
}

func (e *parts) findInstances(p cloudprovider.Interface) {
	if e.instances = offered(p.InstancesV2()); e.instances != nil {
		e.batcher, _ = e.instances.(provider.InstanceMetadataBatcher)
		return
	}
	if e.olderInstances = offered(p.Instances()); e.olderInstances != nil {
		e.zones = offered(p.Zones())
	}
}

func (e *parts) findLoadBalancers(p cloudprovider.Interface) {
	e.loadBalancers = offered(p.LoadBalancer())
	e.concurrent, _ = e.loadBalancers.(provider.ConcurrentLoadBalancer)
}

func (e *parts) findRoutes(p cloudprovider.Interface) { e.routes = offered(p.Routes()) }

// offered returns nil for a typed nil, whose author meant "not offered".
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

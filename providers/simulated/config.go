package simulated

import (
	"cmp"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// config is the content of the configuration file.
type config struct {
	Endpoint kit.Endpoint `json:"endpoint"`
	PageSize int          `json:"pageSize"` // 0: the cloud's default
	// MaxBackends is the largest number of nodes behind one load balancer; 0: no limit.
	MaxBackends int `json:"maxBackends"`
	// RouteAddresses makes the provider store the addresses of a Node with its
	// routes. ListRoutes then returns them.
	RouteAddresses bool `json:"routeAddresses"`
	optional
}

var _ kit.Checker = config{}

// Check implements kit.Checker.
func (c config) Check(wrong kit.Wrong) {
	if c.Endpoint == "" {
		wrong("endpoint", "is missing")
	}
	if c.PageSize < 0 {
		wrong("pageSize", "must not be negative, but is %d", c.PageSize)
	}
	if c.MaxBackends < 0 {
		wrong("maxBackends", "must not be negative, but is %d", c.MaxBackends)
	}
}

// parseConfig reads the file and returns all errors in it at once.
func parseConfig(r io.Reader) (config, error) {
	var c config
	err := kit.ReadConfig(r, &c)
	return c, err
}

// page returns the maximum number of instances in one call.
func (c config) page() int { return cmp.Or(c.PageSize, simulator.DefaultPageSize) }

// optional has a field for each group of optional interfaces that the configuration can
// switch off. A field that is true switches them off.
type optional struct {
	Batches         bool `json:"withoutBatches"`         // provider.InstanceMetadataBatcher
	Lists           bool `json:"withoutLists"`           // provider.InstanceLister and provider.InstanceWatcher
	Terminations    bool `json:"withoutTerminations"`    // provider.Terminations
	BackendSetter   bool `json:"withoutBackendSetter"`   // provider.BackendSetter
	RouteApplier    bool `json:"withoutRouteApplier"`    // provider.RouteApplier
	ConcurrentCalls bool `json:"withoutConcurrentCalls"` // provider.ConcurrentCaller and provider.ConcurrentLoadBalancer
}

var _ provider.ConcurrentCaller = (*Cloud)(nil)

// MaxConcurrentCalls implements provider.ConcurrentCaller. Any number of concurrent
// calls is safe, because the calls keep nothing in memory. Returning larger numbers
// would not help: a cloud with a quota would refuse the additional calls.
func (c *Cloud) MaxConcurrentCalls(kind provider.CallKind) int {
	if c.without.ConcurrentCalls {
		return 0
	}
	switch kind {
	case provider.InstanceCalls, provider.ExistenceCalls:
		return 16
	case provider.LoadBalancerCalls:
		return concurrentServices
	case provider.RouteCalls:
		return 200
	}
	return 0
}

// concurrentServices is the maximum number of concurrent calls, each for a different
// Service.
const concurrentServices = 10

var _ provider.FeatureDeclarer = (*Cloud)(nil)

// LoadBalancerFeatures implements provider.FeatureDeclarer.
func (c *Cloud) LoadBalancerFeatures() provider.LoadBalancerFeatures {
	f := provider.LoadBalancerFeatures{
		SessionAffinity: true, SourceRanges: true, StaticAddress: true, MixedProtocols: true,
		Protocols:        []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP},
		IPFamilies:       []corev1.IPFamily{corev1.IPv4Protocol},
		AnnotationPrefix: AnnotationPrefix,
	}
	for _, a := range Annotations() {
		f.Annotations = append(f.Annotations, string(a))
	}
	return f
}

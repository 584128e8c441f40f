package conformance

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Viewer is a world that shows load balancers as the cloud has them. Checks compare
// them with the fields of Services. If the world leaves a field out, a check concludes
// that the provider ignores this field.
type Viewer interface {
	// LoadBalancers returns the load balancers of the cluster.
	LoadBalancers(ctx context.Context, clusterName string) ([]LoadBalancer, error)
}

// LoadBalancer is a load balancer as the cloud has it.
type LoadBalancer struct {
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	Listeners []Listener `json:"listeners,omitempty"`
	// Backends names the machines of the load balancer, each by its provider ID or by
	// Machine.ID.
	Backends []string `json:"backends,omitempty"`
	// SourceRanges are the CIDRs from which the load balancer accepts traffic.
	// Empty means from everywhere.
	SourceRanges []string `json:"sourceRanges,omitempty"`
	// AffinitySeconds is the time for which a client stays with a backend. 0 means no
	// affinity.
	AffinitySeconds int32 `json:"affinitySeconds,omitempty"`
	// HealthCheckPort is the port on each machine that the health check uses. 0
	// means that it uses the node ports.
	HealthCheckPort int32 `json:"healthCheckPort,omitempty"`
	// Other has the settings that were made with the vendor's own annotations.
	Other map[string]string `json:"other,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol corev1.Protocol `json:"protocol"`
	Port     int32           `json:"port"`
	NodePort int32           `json:"nodePort"`
}

// Holder is a world that can keep new load balancers from becoming ready.
type Holder interface {
	// HoldLoadBalancers keeps new load balancers from becoming ready. The hold lasts
	// until the returned function is called.
	HoldLoadBalancers(ctx context.Context) (release func(), err error)
}

// Reserver is a world that reserves addresses for load balancers.
type Reserver interface {
	ReserveAddress(ctx context.Context, name string) (Address, error)
	ReleaseAddress(ctx context.Context, a Address) error
}

// Address is a reserved address.
type Address struct {
	ID string `json:"id"`
	IP string `json:"ip"`
}

// Announcer is a world that sees the Events that the provider writes.
type Announcer interface {
	// Warnings returns the messages of the Warning Events about the Service.
	Warnings(ctx context.Context, service *corev1.Service) ([]string, error)
}

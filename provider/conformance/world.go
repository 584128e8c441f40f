package conformance

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ErrCannot means that a world cannot do something, such as set one kind of fault. The
// methods of worlds return it. If a check cannot go on without it, the outcome is
// NotRun or Unsupported.
var ErrCannot = errors.New("the world cannot do this")

// Machines is a world that creates machines.
type Machines interface {
	// CreateMachine returns a machine that runs. The machine must have the given
	// name.
	CreateMachine(ctx context.Context, name string) (Machine, error)
	// TerminateMachine terminates a machine. A terminated machine cannot be started
	// again. TerminateMachine returns nil if the machine does not exist.
	TerminateMachine(ctx context.Context, m Machine) error
}

// Machine is an instance of the cloud, as the world knows it.
type Machine struct {
	// Name is the name of the machine's Node.
	Name string
	// ID is the world's own name for the machine. The suite passes it back to the
	// world, and recognises it in LoadBalancer.Backends.
	ID string
	// ProviderID is empty if the world does not know it. The suite then asks the
	// provider.
	ProviderID string
	// Addresses is empty if the world does not know them. The suite then asks the provider
	// for those of the Nodes of load balancers and routes.
	Addresses  []corev1.NodeAddress
	SystemUUID string
}

// PowerSwitch is a world that stops and starts machines. Both methods may return as
// soon as the cloud has accepted the request.
type PowerSwitch interface {
	StopMachine(ctx context.Context, m Machine) error
	StartMachine(ctx context.Context, m Machine) error
}

// Renamer is a world that gives a machine another name.
type Renamer interface {
	RenameMachine(ctx context.Context, m Machine, name string) error
}

// Retagger is a world that removes tags from a machine, such as the tag of the
// cluster. A provider may list only the machines with such a tag.
type Retagger interface {
	UntagMachine(ctx context.Context, m Machine) error
}

// Meter is a world that counts the calls of the provider since the world was made.
type Meter interface {
	Calls(ctx context.Context) (Calls, error)
}

// Calls counts calls to the cloud's API.
type Calls struct {
	Reads  int
	Writes int
	// Refused is the number of these calls that the cloud has refused because there
	// were too many calls.
	Refused int
}

// Faulter is a world that makes calls of the provider fail. A fault does not make the
// world's own calls fail.
type Faulter interface {
	// SetFault sets a fault, and returns a function that takes the fault away.
	SetFault(ctx context.Context, f Fault) (restore func(), err error)
}

// Fault is a deliberate failure of the cloud's API.
type Fault struct {
	Kind FaultKind
	// Skip is the number of calls before the first one that the fault hits. Count is the
	// number of calls that it hits; 0 means no limit. Calls that a fault of this kind cannot
	// hit are not counted. For example, FaultEmptyList can hit only lists.
	Skip  int
	Count int
	// RetryAfter is the time for which the answer to a throttled call asks the caller
	// to wait. 0 means that the answer names no time. If the cloud never names a time and
	// RetryAfter is not 0, SetFault returns ErrCannot.
	RetryAfter time.Duration
}

// FaultKind is the way in which a call fails.
type FaultKind string

// The kinds of faults.
const (
	FaultError           FaultKind = "error"           // 500
	FaultUnavailable     FaultKind = "unavailable"     // 503
	FaultThrottled       FaultKind = "throttled"       // 429
	FaultUnauthenticated FaultKind = "unauthenticated" // 401
	FaultForbidden       FaultKind = "forbidden"       // 403
	FaultNotFound        FaultKind = "notFound"        // 404 for everything; some clouds do so if permissions are missing
	FaultReset           FaultKind = "reset"           // the connection breaks before the call is carried out
	FaultGarbage         FaultKind = "garbage"         // 200 with a meaningless body
	FaultHang            FaultKind = "hang"            // no answer until the caller goes away
	FaultEmptyList       FaultKind = "emptyList"       // lists are empty
	FaultTruncatedList   FaultKind = "truncatedList"   // lists are cut off, but look complete
	FaultLostReply       FaultKind = "lostReply"       // the change is carried out, and the answer is lost
	FaultFailWrite       FaultKind = "failWrite"       // changes fail with 500; reads work
)

// Inventory is a world that lists all resources that the provider has created for a
// cluster. The list must have every kind of resource that costs money or carries traffic.
type Inventory interface {
	Leftovers(ctx context.Context, clusterName string) ([]Resource, error)
}

// Resource is something in the cloud.
type Resource struct {
	Kind ResourceKind
	ID   string
	Name string
}

// ResourceKind is a kind of resource. A world may also have kinds that are not listed
// below.
type ResourceKind string

// The kinds of resources that the suite knows.
const (
	KindLoadBalancer ResourceKind = "loadBalancer"
	KindRoute        ResourceKind = "route"
)

// Drifter is a world that changes a load balancer behind the provider's back.
type Drifter interface {
	// Drift removes a part of the only load balancer of the cluster, or the whole load
	// balancer.
	Drift(ctx context.Context, clusterName string, what Drift) error
}

// Drift is the part that a Drifter removes, as a person or another program might do.
type Drift string

// The parts that a Drifter can remove.
const (
	DriftListener     Drift = "listener"
	DriftBackend      Drift = "backend"
	DriftLoadBalancer Drift = "loadBalancer"
)

// Foreigner is a world that creates resources that do not belong to the provider.
type Foreigner interface {
	// CreateForeign creates a load balancer or a route as a person would, without the
	// provider's marks. The argument what is the name of the load balancer, or the CIDR
	// of the route.
	CreateForeign(ctx context.Context, kind ResourceKind, what string) (Resource, error)
	// ForeignExists reports whether the resource still exists and is unchanged.
	ForeignExists(ctx context.Context, r Resource) (bool, error)
	// DeleteForeign removes the resource.
	DeleteForeign(ctx context.Context, r Resource) error
}

// Viewer is a world that shows load balancers as the cloud has them. Checks compare
// them with the fields of Services. If the world leaves a field out, a check concludes
// that the provider ignores this field.
type Viewer interface {
	// LoadBalancers returns the load balancers of the cluster.
	LoadBalancers(ctx context.Context, clusterName string) ([]LoadBalancer, error)
}

// LoadBalancer is a load balancer as the cloud has it.
type LoadBalancer struct {
	ID        string
	Name      string
	Listeners []Listener
	// Backends names the machines of the load balancer, each by its provider ID or by
	// Machine.ID.
	Backends []string
	// SourceRanges are the CIDRs from which the load balancer accepts traffic.
	// Empty means from everywhere.
	SourceRanges []string
	// AffinitySeconds is the time for which a client stays with a backend. 0 means no
	// affinity.
	AffinitySeconds int32
	// HealthCheckPort is the port on each machine that the health check uses. 0
	// means that it uses the node ports.
	HealthCheckPort int32
	// Other has the settings that were made with the vendor's own annotations.
	Other map[string]string
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol corev1.Protocol
	Port     int32
	NodePort int32
	// Direct means that packets reach the machines with the address of the load balancer and
	// with Port. They need no node port, so NodePort does not count.
	Direct bool
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
	ID string
	IP string
}

// Announcer is a world that sees the Events that the provider writes.
type Announcer interface {
	// Warnings returns the messages of the Warning Events about the Service.
	Warnings(ctx context.Context, service *corev1.Service) ([]string, error)
}

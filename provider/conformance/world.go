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
	Name string `json:"name"`
	// ID is the world's own name for the machine. The suite passes it back to the
	// world, and recognises it in LoadBalancer.Backends.
	ID string `json:"id"`
	// ProviderID is empty if the world does not know it. The suite then asks the
	// provider.
	ProviderID string               `json:"providerID,omitempty"`
	Addresses  []corev1.NodeAddress `json:"addresses,omitempty"`
	SystemUUID string               `json:"systemUUID,omitempty"`
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
	Reads  int `json:"reads"`
	Writes int `json:"writes"`
	// Refused is the number of these calls that the cloud has refused because there
	// were too many calls.
	Refused int `json:"refused"`
}

// Faulter is a world that makes calls of the provider fail. A fault does not make the
// world's own calls fail.
type Faulter interface {
	// SetFault sets a fault, and returns a function that takes the fault away.
	SetFault(ctx context.Context, f Fault) (restore func(), err error)
}

// Fault is a deliberate failure of the cloud's API.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Skip is the number of calls before the first one that the fault hits. Count is the
	// number of calls that it hits; 0 means no limit. Calls that a fault of this kind cannot
	// hit are not counted. For example, FaultEmptyList can hit only lists.
	Skip  int `json:"skip,omitempty"`
	Count int `json:"count,omitempty"`
	// RetryAfter is the time for which the answer to a throttled call asks the caller
	// to wait. 0 means that the answer names no time. If the cloud never names a time and
	// RetryAfter is not 0, SetFault returns ErrCannot.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
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

// FaultKinds returns all kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultError, FaultUnavailable, FaultThrottled, FaultUnauthenticated, FaultForbidden, FaultNotFound, FaultReset,
		FaultGarbage, FaultHang, FaultEmptyList, FaultTruncatedList, FaultLostReply, FaultFailWrite,
	}
}

// Inventory is a world that lists all resources that the provider has created for a
// cluster. The list must have every kind of resource that costs money or carries traffic.
type Inventory interface {
	Leftovers(ctx context.Context, clusterName string) ([]Resource, error)
}

// Resource is something in the cloud.
type Resource struct {
	Kind ResourceKind `json:"kind"`
	ID   string       `json:"id"`
	Name string       `json:"name,omitempty"`
	// Owner is the owner of the resource, such as the UID of a Service.
	Owner string `json:"owner,omitempty"`
}

// ResourceKind is a kind of resource. A world may also have kinds that are not listed
// below.
type ResourceKind string

// The kinds of resources that the suite knows.
const (
	KindMachine      ResourceKind = "machine"
	KindLoadBalancer ResourceKind = "loadBalancer"
	KindRoute        ResourceKind = "route"
	KindAddress      ResourceKind = "address" // a reserved address
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

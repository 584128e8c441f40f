package conformance

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ErrCannot is the error of a method of a world that cannot do what is asked, such as set
// one kind of fault. A check that cannot go on without it ends as NotRun or Unsupported.
var ErrCannot = errors.New("the world cannot do this")

// Identifier is a world that knows its account.
type Identifier interface {
	// Identity names the account, or the cluster of the cloud, such as "account 4711".
	// People can read the name, and it never changes. It holds no secret.
	Identity(ctx context.Context) (string, error)
}

// Machines is a world that creates machines.
type Machines interface {
	// CreateMachine returns a machine that runs. It must have the name that was asked
	// for, unless it is Borrowed.
	CreateMachine(ctx context.Context, name string) (Machine, error)
	// TerminateMachine removes a machine for good. It returns nil if there is none.
	TerminateMachine(ctx context.Context, m Machine) error
}

// Machine is an instance of the cloud, as the world knows it.
type Machine struct {
	// Name is the name that its Node has.
	Name string `json:"name"`
	// ID is the world's own name for the machine. The suite only passes it back.
	ID string `json:"id"`
	// ProviderID is empty if the world does not know it. Then the suite asks the
	// provider.
	ProviderID string               `json:"providerID,omitempty"`
	Addresses  []corev1.NodeAddress `json:"addresses,omitempty"`
	SystemUUID string               `json:"systemUUID,omitempty"`
	// Borrowed means that the machine existed before the check. The suite neither
	// changes nor terminates it.
	Borrowed bool `json:"borrowed,omitempty"`
}

// PowerSwitch is a world that stops and starts machines. Both methods return when
// the cloud has accepted the order.
type PowerSwitch interface {
	StopMachine(ctx context.Context, m Machine) error
	StartMachine(ctx context.Context, m Machine) error
}

// Renamer is a world that gives a machine another name.
type Renamer interface {
	RenameMachine(ctx context.Context, m Machine, name string) error
}

// Retagger is a world that removes from a machine what the provider filters by, such
// as the tag of the cluster.
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
	// Refused is how many of these calls the cloud has refused because there were too
	// many.
	Refused int `json:"refused"`
}

// Faulter is a world that makes calls of the provider fail. A fault does not make the
// world's own calls fail.
type Faulter interface {
	// SetFault returns a function that takes the fault away.
	SetFault(ctx context.Context, f Fault) (restore func(), err error)
}

// FaultClearer is a Faulter whose faults outlast the process that has set them.
type FaultClearer interface {
	// ClearFaults takes away all faults that SetFault has set, also in other processes.
	ClearFaults(ctx context.Context) error
}

// Fault is a deliberate failure of the cloud's API.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Skip is how many calls the fault first spares, of those that it can hit, such as
	// lists or changes. Count is how many it then hits; 0 means no limit.
	Skip  int `json:"skip,omitempty"`
	Count int `json:"count,omitempty"`
	// RetryAfter is how long a throttled answer asks the caller to wait; 0 means that it
	// names no time. If the cloud never says how long to wait, SetFault returns ErrCannot
	// for other values.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// FaultKind says how a call fails.
type FaultKind string

// The kinds of faults.
const (
	FaultError           FaultKind = "error"           // 500
	FaultUnavailable     FaultKind = "unavailable"     // 503
	FaultThrottled       FaultKind = "throttled"       // 429
	FaultUnauthenticated FaultKind = "unauthenticated" // 401
	FaultForbidden       FaultKind = "forbidden"       // 403
	FaultNotFound        FaultKind = "notFound"        // 404 for everything, as some clouds answer a caller who lacks permissions
	FaultReset           FaultKind = "reset"           // the connection breaks before the call is carried out
	FaultGarbage         FaultKind = "garbage"         // 200 with a body that is no answer
	FaultHang            FaultKind = "hang"            // no answer until the caller goes away
	FaultEmptyList       FaultKind = "emptyList"       // lists are empty
	FaultTruncatedList   FaultKind = "truncatedList"   // lists lack their end, but say that they are complete
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
// cluster, of every kind that costs money or carries traffic.
type Inventory interface {
	Leftovers(ctx context.Context, clusterName string) ([]Resource, error)
}

// Resource is something in the cloud.
type Resource struct {
	Kind ResourceKind `json:"kind"`
	ID   string       `json:"id"`
	Name string       `json:"name,omitempty"`
	// Owner is what it belongs to, such as the UID of a Service.
	Owner string `json:"owner,omitempty"`
}

// ResourceKind is a kind of resource. A world may have other kinds than those below.
type ResourceKind string

// The kinds of resources that the suite knows.
const (
	KindMachine      ResourceKind = "machine"
	KindLoadBalancer ResourceKind = "loadBalancer"
	KindRoute        ResourceKind = "route"
	KindAddress      ResourceKind = "address" // a reserved address
	KindFault        ResourceKind = "fault"   // a fault of a Faulter; only in a ledger
	KindHold         ResourceKind = "hold"    // a hold of a Holder; only in a ledger
)

// Drifter is a world that changes a load balancer without the provider.
type Drifter interface {
	// Drift removes a part of the only load balancer of the cluster, or the whole load
	// balancer.
	Drift(ctx context.Context, clusterName string, what Drift) error
}

// Drift is what Drifter removes, as a person or another program might do.
type Drift string

// What may be removed.
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
	// ForeignExists reports whether the resource is still there, and unchanged.
	ForeignExists(ctx context.Context, r Resource) (bool, error)
	// DeleteForeign removes the resource.
	DeleteForeign(ctx context.Context, r Resource) error
}

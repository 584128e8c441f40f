package simulator

import "github.com/fairlead-k8s/fairlead/simulator/wire"

// The types of the API are those of package wire, where their fields are
// documented.

type (
	// Instance is a machine of the cloud.
	Instance = wire.Instance
	// InstancePatch changes an instance; what is nil stays as it is.
	InstancePatch = wire.InstancePatch
	// InstanceList is one page of instances, ordered by ID.
	InstanceList = wire.InstanceList
	// Address is one address of an instance.
	Address = wire.Address
	// AddressType says what an address is; the words are those of Kubernetes.
	AddressType = wire.AddressType
	// State is where an instance is in its life.
	State = wire.State
)

type (
	// LoadBalancer forwards what arrives at its address to its backends.
	LoadBalancer = wire.LoadBalancer
	// LoadBalancerPatch changes a load balancer; what is nil stays as it is.
	LoadBalancerPatch = wire.LoadBalancerPatch
	// LoadBalancerList is one page of load balancers, ordered by ID.
	LoadBalancerList = wire.LoadBalancerList
	// LoadBalancerState is where a load balancer is in its life.
	LoadBalancerState = wire.LoadBalancerState
	// Listener is a port of a load balancer.
	Listener = wire.Listener
	// Protocol is what a listener speaks.
	Protocol = wire.Protocol
	// HealthCheck says how a backend is found to be well.
	HealthCheck = wire.HealthCheck
	// Traffic is what a load balancer carries now, and has carried since it
	// was made or the cloud was started, whichever is later.
	Traffic = wire.Traffic
	// ListenerTraffic is what one listener carries.
	ListenerTraffic = wire.ListenerTraffic
	// BackendTraffic is what one backend gets.
	BackendTraffic = wire.BackendTraffic
	// BackendHealth reports whether a backend gets new connections.
	BackendHealth = wire.BackendHealth
)

type (
	// StaticIP is an address that is kept until it is released, whether a load
	// balancer uses it or not.
	StaticIP = wire.StaticIP
	// StaticIPList is one page of static IPs, ordered by ID.
	StaticIPList = wire.StaticIPList
)

type (
	// Route leads packets for a destination to an instance.
	Route = wire.Route
	// RouteList is one page of routes, ordered by ID.
	RouteList = wire.RouteList
	// RouteState says what becomes of the packets that a route matches.
	RouteState = wire.RouteState
	// RouteChange is the creation or the deletion of one route.
	RouteChange = wire.RouteChange
	// RouteOutcome is what became of a RouteChange.
	RouteOutcome = wire.RouteOutcome
)

type (
	// Fault is something that goes wrong on purpose, for calls under /v1 only.
	Fault = wire.Fault
	// FaultKind says how a fault shows.
	FaultKind = wire.FaultKind
	// Call names one operation of the cloud's API, as a vendor's API reference
	// would.
	Call = wire.Call
	// CallReport is what the cloud was asked since it started or was last
	// reset.
	CallReport = wire.CallReport
	// CallCounter is how often a call ended with one result.
	CallCounter = wire.CallCounter
	// CallRecord is one call that was made.
	CallRecord = wire.CallRecord
	// APIError is an error that the cloud answered.
	APIError = wire.APIError
	// Duration is a time.Duration that is written as Go writes it.
	Duration = wire.Duration
)

// The states of an instance.
const (
	Pending    = wire.Pending
	Running    = wire.Running
	Stopping   = wire.Stopping
	Stopped    = wire.Stopped
	Terminated = wire.Terminated
)

// The types of addresses.
const (
	InternalIP  = wire.InternalIP
	ExternalIP  = wire.ExternalIP
	InternalDNS = wire.InternalDNS
	ExternalDNS = wire.ExternalDNS
	Hostname    = wire.Hostname
)

// The states of a load balancer.
const (
	LoadBalancerPending = wire.LoadBalancerPending
	LoadBalancerActive  = wire.LoadBalancerActive
)

// The protocols.
const (
	TCP = wire.TCP
	UDP = wire.UDP
)

// The health of a backend.
const (
	BackendChecking  = wire.BackendChecking
	BackendHealthy   = wire.BackendHealthy
	BackendUnhealthy = wire.BackendUnhealthy
	BackendDraining  = wire.BackendDraining
)

// The states of a route.
const (
	RouteActive    = wire.RouteActive
	RouteBlackhole = wire.RouteBlackhole
)

// What names and source ranges are limited to.
const (
	Everyone            = wire.Everyone
	MaxLoadBalancerName = wire.MaxLoadBalancerName
	MaxRouteName        = wire.MaxRouteName
)

// The kinds of faults.
const (
	FaultLatency       = wire.FaultLatency
	FaultHang          = wire.FaultHang
	FaultReset         = wire.FaultReset
	FaultThrottle      = wire.FaultThrottle
	FaultOutage        = wire.FaultOutage
	FaultDenied        = wire.FaultDenied
	FaultError         = wire.FaultError
	FaultNotFound      = wire.FaultNotFound
	FaultStale         = wire.FaultStale
	FaultInvisible     = wire.FaultInvisible
	FaultEmptyList     = wire.FaultEmptyList
	FaultTruncatedList = wire.FaultTruncatedList
	FaultLostReply     = wire.FaultLostReply
)

// The calls.
const (
	ListInstances      = wire.ListInstances
	GetInstance        = wire.GetInstance
	CreateInstance     = wire.CreateInstance
	UpdateInstance     = wire.UpdateInstance
	StartInstance      = wire.StartInstance
	StopInstance       = wire.StopInstance
	TerminateInstance  = wire.TerminateInstance
	ListLoadBalancers  = wire.ListLoadBalancers
	GetLoadBalancer    = wire.GetLoadBalancer
	CreateLoadBalancer = wire.CreateLoadBalancer
	UpdateLoadBalancer = wire.UpdateLoadBalancer
	DeleteLoadBalancer = wire.DeleteLoadBalancer
	ListStaticIPs      = wire.ListStaticIPs
	GetStaticIP        = wire.GetStaticIP
	CreateStaticIP     = wire.CreateStaticIP
	ReleaseStaticIP    = wire.ReleaseStaticIP
	ListRoutes         = wire.ListRoutes
	GetRoute           = wire.GetRoute
	CreateRoute        = wire.CreateRoute
	DeleteRoute        = wire.DeleteRoute
	ChangeRoutes       = wire.ChangeRoutes
)

// The results of calls that are no codes of errors.
const (
	ResultOK        = wire.ResultOK
	ResultReplyLost = wire.ResultReplyLost
	ResultReset     = wire.ResultReset
	ResultGone      = wire.ResultGone
)

// The codes of errors.
const (
	CodeInvalid       = wire.CodeInvalid
	CodeUnauthorized  = wire.CodeUnauthorized
	CodeForbidden     = wire.CodeForbidden
	CodeNotFound      = wire.CodeNotFound
	CodeUnknownPath   = wire.CodeUnknownPath
	CodeConflict      = wire.CodeConflict
	CodeAlreadyExists = wire.CodeAlreadyExists
	CodeQuotaExceeded = wire.CodeQuotaExceeded
	CodeThrottled     = wire.CodeThrottled
	CodeInternal      = wire.CodeInternal
	CodeUnavailable   = wire.CodeUnavailable
)

// AddressTypes returns all types of addresses.
func AddressTypes() []AddressType { return wire.AddressTypes() }

// Protocols returns all protocols.
func Protocols() []Protocol { return wire.Protocols() }

// RouteStates returns all states of routes.
func RouteStates() []RouteState { return wire.RouteStates() }

// FaultKinds returns all kinds of faults, in the order in which they act on a call.
func FaultKinds() []FaultKind { return wire.FaultKinds() }

// CallNames returns all calls.
func CallNames() []Call { return wire.CallNames() }

// IsNotFound reports whether the cloud itself said that what was asked for does
// not exist. A 404 of a proxy, or for an unknown path, says no such thing.
func IsNotFound(err error) bool { return wire.IsNotFound(err) }

// IsAlreadyExists reports whether the cloud said that the name belongs to
// another resource.
func IsAlreadyExists(err error) bool { return wire.IsAlreadyExists(err) }

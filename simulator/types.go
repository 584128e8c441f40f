package simulator

import "github.com/fairlead-k8s/fairlead/simulator/wire"

// The types of the API are those of package wire, where their fields are
// documented.

// Instances.
type (
	Instance      = wire.Instance
	InstancePatch = wire.InstancePatch
	InstanceList  = wire.InstanceList
	Address       = wire.Address
	AddressType   = wire.AddressType
	State         = wire.State
)

// Load balancers.
type (
	LoadBalancer      = wire.LoadBalancer
	LoadBalancerPatch = wire.LoadBalancerPatch
	LoadBalancerList  = wire.LoadBalancerList
	LoadBalancerState = wire.LoadBalancerState
	Listener          = wire.Listener
	Protocol          = wire.Protocol
	HealthCheck       = wire.HealthCheck
	Traffic           = wire.Traffic
	ListenerTraffic   = wire.ListenerTraffic
	BackendTraffic    = wire.BackendTraffic
	BackendHealth     = wire.BackendHealth
)

// Static IPs.
type (
	StaticIP     = wire.StaticIP
	StaticIPList = wire.StaticIPList
)

// Routes.
type (
	Route        = wire.Route
	RouteList    = wire.RouteList
	RouteState   = wire.RouteState
	RouteChange  = wire.RouteChange
	RouteOutcome = wire.RouteOutcome
)

// Faults, calls and errors.
type (
	Fault       = wire.Fault
	FaultKind   = wire.FaultKind
	Call        = wire.Call
	CallReport  = wire.CallReport
	CallCounter = wire.CallCounter
	CallRecord  = wire.CallRecord
	APIError    = wire.APIError
	Duration    = wire.Duration
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

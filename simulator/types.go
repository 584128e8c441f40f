package simulator

import (
	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// The types of the API are aliases of those in package wire, which documents their
// fields.

// List is one page of resources, ordered by ID.
type List[T any] = wire.List[T]

type (
	// Instance is a machine of the cloud.
	Instance = wire.Instance
	// InstancePatch changes an instance. A field that is nil changes nothing.
	InstancePatch = wire.InstancePatch
	// InstanceChanges names the instances that have changed.
	InstanceChanges = wire.InstanceChanges
	// Address is one address of an instance.
	Address = wire.Address
	// AddressType is the type of an address, named as in Kubernetes.
	AddressType = wire.AddressType
	// State is the state of an instance.
	State = wire.State
)

type (
	// LoadBalancer forwards traffic from its address to its backends.
	LoadBalancer = wire.LoadBalancer
	// SharedBackends gives several load balancers the same backends.
	SharedBackends = wire.SharedBackends
	// LoadBalancerPatch changes a load balancer. A field that is nil changes
	// nothing.
	LoadBalancerPatch = wire.LoadBalancerPatch
	// Listener is a port of a load balancer.
	Listener = wire.Listener
	// Protocol is the protocol of a listener.
	Protocol = wire.Protocol
	// HealthCheck says how the health of backends is checked.
	HealthCheck = wire.HealthCheck
	// Traffic reports the traffic of a load balancer: its open connections, and totals
	// since the load balancer was created or the cloud was started, whichever is
	// later.
	Traffic = wire.Traffic
	// ListenerTraffic reports the traffic of one listener.
	ListenerTraffic = wire.ListenerTraffic
	// BackendTraffic reports the traffic of one backend.
	BackendTraffic = wire.BackendTraffic
	// BackendHealth reports whether a backend gets new connections.
	BackendHealth = wire.BackendHealth
)

type (
	// StaticIP is an address that is kept until it is released, whether a load
	// balancer uses it or not.
	StaticIP = wire.StaticIP
)

type (
	// Route leads packets for a destination to an instance.
	Route = wire.Route
	// RouteChange is the creation or the deletion of one route.
	RouteChange = wire.RouteChange
	// RouteOutcome is the result of a RouteChange.
	RouteOutcome = wire.RouteOutcome
)

type (
	// Volume is a disk. Only instances in one of the volume's zones can use it.
	Volume = wire.Volume
)

type (
	// Fault is a deliberate failure of calls under /v1.
	Fault = wire.Fault
	// FaultKind says how a fault changes a call.
	FaultKind = wire.FaultKind
	// Call is the name of an operation of the cloud's API, such as ListInstances.
	Call = wire.Call
	// CallReport reports the calls since the cloud was started or the report was
	// last reset.
	CallReport = wire.CallReport
	// CallCounter counts how often a call ended with one result.
	CallCounter = wire.CallCounter
	// APIError is an error in an answer of the cloud.
	APIError = wire.APIError
	// Duration is a time.Duration that is written as a string, such as "1m30s".
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
	InternalIP = wire.InternalIP
	ExternalIP = wire.ExternalIP
	Hostname   = wire.Hostname
)

// The states of a load balancer.
const (
	LoadBalancerActive = wire.LoadBalancerActive
)

// The protocols.
const (
	TCP = wire.TCP
	UDP = wire.UDP
)

// The health of a backend.
const (
	BackendChecking = wire.BackendChecking
	BackendHealthy  = wire.BackendHealthy
	BackendDraining = wire.BackendDraining
)

// The states of a route.
const (
	RouteActive    = wire.RouteActive
	RouteBlackhole = wire.RouteBlackhole
)

// The source range of all IPv4 addresses, and the limits of names and calls.
const (
	Everyone            = wire.Everyone
	MaxLoadBalancerName = wire.MaxLoadBalancerName
	MaxRouteName        = wire.MaxRouteName
	MaxRouteChanges     = wire.MaxRouteChanges
	MaxSharedBackends   = wire.MaxSharedBackends
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
	WatchInstances     = wire.WatchInstances
	CreateLoadBalancer = wire.CreateLoadBalancer
	UpdateLoadBalancer = wire.UpdateLoadBalancer
	DeleteLoadBalancer = wire.DeleteLoadBalancer
	SetBackends        = wire.SetBackends
	CreateStaticIP     = wire.CreateStaticIP
	ReleaseStaticIP    = wire.ReleaseStaticIP
	ListRoutes         = wire.ListRoutes
	CreateRoute        = wire.CreateRoute
	DeleteRoute        = wire.DeleteRoute
	ChangeRoutes       = wire.ChangeRoutes
	CreateVolume       = wire.CreateVolume
	DeleteVolume       = wire.DeleteVolume
)

// The results of calls, apart from the error codes below.
const (
	ResultOK        = wire.ResultOK
	ResultReplyLost = wire.ResultReplyLost
)

// The codes of errors.
const (
	CodeTargetNotFound = wire.CodeTargetNotFound
	CodeQuotaExceeded  = wire.CodeQuotaExceeded
	CodeThrottled      = wire.CodeThrottled
)

// AddressTypes returns all types of addresses.
func AddressTypes() []AddressType { return wire.AddressTypes() }

// Protocols returns all protocols.
func Protocols() []Protocol { return wire.Protocols() }

// FaultKinds returns all kinds of faults, in the order in which they act on a call.
func FaultKinds() []FaultKind { return wire.FaultKinds() }

// CallNames returns all calls.
func CallNames() []Call { return wire.CallNames() }

// IsNotFound reports whether err is the cloud's answer that a resource does not
// exist. It reports false for a 404 of a proxy or for an unknown path.
func IsNotFound(err error) bool { return wire.IsNotFound(err) }

// IsExpired reports whether err is the cloud's answer that its log no longer reaches back
// to the place in the request.
func IsExpired(err error) bool { return wire.IsExpired(err) }

// IsAlreadyExists reports whether err is the cloud's answer that the name
// belongs to another resource.
func IsAlreadyExists(err error) bool { return wire.IsAlreadyExists(err) }

// QuotaProfiles returns the names of the request quotas of well-known clouds.
func QuotaProfiles() []string { return faults.QuotaProfiles() }

// QuotaProfile returns the request quota of a well-known cloud. Each of its faults is one
// bucket. It returns false if there is no profile of this name.
func QuotaProfile(name string) (buckets []Fault, known bool) { return faults.QuotaProfile(name) }

// ParseQuota reads a request quota from YAML. Each of the faults is one bucket. The
// error names the field that is wrong.
func ParseQuota(text []byte) (buckets []Fault, err error) { return faults.ParseQuota(text) }

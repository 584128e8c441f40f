package wire

import (
	"cmp"
	"time"
)

// Call is the name of an operation of the cloud's API, such as ListInstances. A fault
// can be limited to some operations, and the calls of each operation are counted.
type Call string

// The calls.
const (
	ListInstances     Call = "ListInstances"
	GetInstance       Call = "GetInstance"
	CreateInstance    Call = "CreateInstance"
	UpdateInstance    Call = "UpdateInstance"
	StartInstance     Call = "StartInstance"
	StopInstance      Call = "StopInstance"
	TerminateInstance Call = "TerminateInstance"
	WatchInstances    Call = "WatchInstances"

	ListLoadBalancers  Call = "ListLoadBalancers"
	GetLoadBalancer    Call = "GetLoadBalancer"
	CreateLoadBalancer Call = "CreateLoadBalancer"
	UpdateLoadBalancer Call = "UpdateLoadBalancer"
	DeleteLoadBalancer Call = "DeleteLoadBalancer"
	SetBackends        Call = "SetBackends"

	ListStaticIPs   Call = "ListStaticIPs"
	GetStaticIP     Call = "GetStaticIP"
	CreateStaticIP  Call = "CreateStaticIP"
	ReleaseStaticIP Call = "ReleaseStaticIP"

	ListRoutes   Call = "ListRoutes"
	GetRoute     Call = "GetRoute"
	CreateRoute  Call = "CreateRoute"
	DeleteRoute  Call = "DeleteRoute"
	ChangeRoutes Call = "ChangeRoutes"

	ListVolumes  Call = "ListVolumes"
	GetVolume    Call = "GetVolume"
	CreateVolume Call = "CreateVolume"
	DeleteVolume Call = "DeleteVolume"
)

// CallNames returns all calls.
func CallNames() []Call {
	return []Call{
		ListInstances, GetInstance, CreateInstance, UpdateInstance,
		StartInstance, StopInstance, TerminateInstance, WatchInstances,
		ListLoadBalancers, GetLoadBalancer, CreateLoadBalancer, UpdateLoadBalancer, DeleteLoadBalancer, SetBackends,
		ListStaticIPs, GetStaticIP, CreateStaticIP, ReleaseStaticIP,
		ListRoutes, GetRoute, CreateRoute, DeleteRoute, ChangeRoutes,
		ListVolumes, GetVolume, CreateVolume, DeleteVolume,
	}
}

// ResultOK is the result of a call that was carried out and answered. Every
// other result is the code of an error, or one of the Result constants below.
const (
	ResultOK = "OK"
	// ResultReplyLost means that the call was carried out, but that the connection
	// was cut before the answer.
	ResultReplyLost = "ReplyLost"
	// ResultReset means that the connection was reset and the call was not
	// carried out.
	ResultReset = "ConnectionReset"
	// ResultGone means that the call was not carried out, because its caller
	// went away while a fault delayed it.
	ResultGone = "CallerGone"
)

// CallReport reports the calls since the cloud was started or the report was
// last reset.
type CallReport struct {
	// Counters are ordered by call, then by result.
	Counters []CallCounter `json:"counters"`
	// Last has the most recent calls, the oldest of them first.
	Last []CallRecord `json:"last"`
}

// Count returns how often these calls were made. Calls with any result count. Without
// arguments, it counts all calls.
func (r CallReport) Count(calls ...Call) int64 {
	var n int64
	for _, c := range r.Counters {
		if len(calls) == 0 {
			n += c.Count
			continue
		}
		for _, call := range calls {
			if c.Call == call {
				n += c.Count
			}
		}
	}
	return n
}

// CallCounter counts how often a call ended with one result.
type CallCounter struct {
	Call   Call   `json:"call"`
	Result string `json:"result"`
	Count  int64  `json:"count"`
}

// CallRecord is one call that was made.
type CallRecord struct {
	Time time.Time `json:"time"`
	Call Call      `json:"call"`
	// Instance, LoadBalancer, StaticIP, Route or Volume has the ID of the resource that
	// the call was about. If the resource had no ID yet, as in a creation, the field has
	// its name. All are empty if the call was not about a single resource.
	Instance     string `json:"instance,omitempty"`
	LoadBalancer string `json:"loadBalancer,omitempty"`
	StaticIP     string `json:"staticIP,omitempty"`
	Route        string `json:"route,omitempty"`
	Volume       string `json:"volume,omitempty"`
	// Status is the HTTP status of the answer; 0 if there was no answer.
	Status   int      `json:"status"`
	Result   string   `json:"result"`
	Duration Duration `json:"duration"`
}

// Resource returns the ID or name of the resource that the call was about. It
// returns "" if the call was not about a single resource.
func (r CallRecord) Resource() string {
	return cmp.Or(r.Instance, r.LoadBalancer, r.StaticIP, r.Route, r.Volume)
}

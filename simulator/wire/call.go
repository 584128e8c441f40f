package wire

import (
	"cmp"
	"time"
)

// Call names one operation of the cloud's API, as a vendor's API reference
// would. It is what faults are aimed at and what calls are counted by.
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

	ListLoadBalancers  Call = "ListLoadBalancers"
	GetLoadBalancer    Call = "GetLoadBalancer"
	CreateLoadBalancer Call = "CreateLoadBalancer"
	UpdateLoadBalancer Call = "UpdateLoadBalancer"
	DeleteLoadBalancer Call = "DeleteLoadBalancer"

	ListStaticIPs   Call = "ListStaticIPs"
	GetStaticIP     Call = "GetStaticIP"
	CreateStaticIP  Call = "CreateStaticIP"
	ReleaseStaticIP Call = "ReleaseStaticIP"

	ListRoutes   Call = "ListRoutes"
	GetRoute     Call = "GetRoute"
	CreateRoute  Call = "CreateRoute"
	DeleteRoute  Call = "DeleteRoute"
	ChangeRoutes Call = "ChangeRoutes"
)

// CallNames are all calls.
func CallNames() []Call {
	return []Call{
		ListInstances, GetInstance, CreateInstance, UpdateInstance,
		StartInstance, StopInstance, TerminateInstance,
		ListLoadBalancers, GetLoadBalancer, CreateLoadBalancer, UpdateLoadBalancer, DeleteLoadBalancer,
		ListStaticIPs, GetStaticIP, CreateStaticIP, ReleaseStaticIP,
		ListRoutes, GetRoute, CreateRoute, DeleteRoute, ChangeRoutes,
	}
}

// ResultOK is the result of a call that was carried out and answered. Every
// other result is the code of an error, or one of the Result constants below.
const (
	ResultOK = "OK"
	// ResultReplyLost was carried out, but the connection was cut before the answer.
	ResultReplyLost = "ReplyLost"
	// ResultReset was not carried out: the connection was reset.
	ResultReset = "ConnectionReset"
	// ResultGone was not carried out: the caller went away while the call waited.
	ResultGone = "CallerGone"
)

// CallReport is what the cloud was asked since it started or was last reset.
type CallReport struct {
	// Counters are ordered by call, then by result.
	Counters []CallCounter `json:"counters"`
	// Last are the last calls, the oldest first.
	Last []CallRecord `json:"last"`
}

// Count is how often a call was made, whatever came of it; without a call, how
// often any was made.
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

// CallCounter is how often a call ended with one result.
type CallCounter struct {
	Call   Call   `json:"call"`
	Result string `json:"result"`
	Count  int64  `json:"count"`
}

// CallRecord is one call that was made.
type CallRecord struct {
	Time time.Time `json:"time"`
	Call Call      `json:"call"`
	// Instance, LoadBalancer, StaticIP or Route, as the call says, is the ID that
	// was asked for, or the name in a creation.
	Instance     string `json:"instance,omitempty"`
	LoadBalancer string `json:"loadBalancer,omitempty"`
	StaticIP     string `json:"staticIP,omitempty"`
	Route        string `json:"route,omitempty"`
	// Status is the HTTP status; 0 where none was sent.
	Status   int      `json:"status"`
	Result   string   `json:"result"`
	Duration Duration `json:"duration"`
}

// Resource is the ID or name that the call was about, of whatever kind; empty
// if it was about no single one.
func (r CallRecord) Resource() string { return cmp.Or(r.Instance, r.LoadBalancer, r.StaticIP, r.Route) }

package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// Finalizer keeps a Service until its load balancer is deleted. Upstream uses the same
// finalizer.
const Finalizer = mark.ServiceFinalizer

// observed is the input of a decision about one Service.
type observed struct {
	now     time.Time
	service *corev1.Service // from the informer, must not be changed; nil if there is no Service
	// seat has the newest node set of the Service, and what it depends on.
	seat seat
	// backends is the ID of that set. hosts is the number of its nodes, and usable is the
	// number of nodes from which they were chosen.
	backends      string
	hosts, usable int
	memory        memory
	policy        Policy
	// shown is the last address that this process has seen on a Service with this
	// name.
	shown shownAddress
	// foreign means that this process has last seen the Service with a class that is not
	// served here.
	foreign bool
	// elsewhere means that somebody else provides load balancers, according to the last
	// call about any Service that has shown this or the opposite.
	elsewhere bool
	// jitter is a number in [0, 1). It spreads the resyncs of many Services.
	jitter float64
}

// shownAddress is the address that a Service has shown.
type shownAddress struct {
	uid    types.UID
	status corev1.LoadBalancerStatus
}

// isOrphaned reports whether the Service that the memory is about no longer exists.
func (o observed) isOrphaned() bool {
	return o.service == nil || o.memory.uid != "" && o.memory.uid != o.service.UID
}

// subject returns the Service on which events are recorded.
func (o observed) subject() *corev1.Service {
	if o.service == nil {
		return o.memory.service
	}
	return o.service
}

// action is the next thing that a pass does.
type action string

const (
	doNothing    action = "nothing"
	forget       action = "forget"
	addFinalizer action = "add finalizer"
	ensure       action = "ensure"
	update       action = "update"
	remove       action = "remove" // the load balancer
	find         action = "find"   // asks whether there is a load balancer
	publish      action = "publish"
	release      action = "release" // finalizer, status and conditions are removed
	wait         action = "wait"
)

// isCall reports whether the action calls the provider.
func (a action) isCall() bool { return a == ensure || a == update || a == remove || a == find }

// plan is the next action for one Service, and why.
type plan struct {
	do  action
	why string
	// routine means that no user waits for this call. The success of the call is not
	// recorded as an event.
	routine bool
	writes  writes
	// shared means that one call may be made for this Service together with others.
	shared bool
	// fresh means that a new set of Nodes is made right before this call.
	fresh bool
	// service is the Service for which a call is made.
	service *corev1.Service
	// orphaned means that the Service may no longer exist. The provider gets what this
	// process remembers of it.
	orphaned bool
	// whole is the Service that the provider gets, if the cache has only a part of the
	// Service. It is read before the call.
	whole *corev1.Service
	// after is the time until the next check. 0 means that the Service waits for a
	// change.
	after time.Duration
	// awaited means that a user waits for the next pass.
	awaited bool
	memory  memory
}

// writes has what an action writes to the API server. The action first makes one patch,
// and then records the events.
type writes struct {
	finalizer bool // the finalizer is added
	release   bool // the finalizer is removed
	// class is the new value of the annotation AnnotationClass; "" removes it.
	class      *string
	ingress    *[]corev1.LoadBalancerIngress
	conditions []metav1.Condition
	drop       []string // types of conditions to remove
	events     []message.Event
}

// given returns the Service that the provider gets.
func (p plan) given() *corev1.Service {
	if p.whole != nil {
		return p.whole
	}
	return p.service
}

// within returns the plan with a check after this time, unless there is an earlier one.
func (p plan) within(after time.Duration) plan {
	if after > 0 && (p.after == 0 || after < p.after) {
		p.after = after
	}
	return p
}

// patches reports whether there is anything to patch.
func (w writes) patches() bool {
	return w.finalizer || w.release || w.class != nil || w.ingress != nil || len(w.conditions)+len(w.drop) > 0
}

// decide returns the next action for one Service. It is called again after each
// action, until nothing is left to do.
func decide(o observed) plan {
	switch {
	case o.isOrphaned():
		return removeOrphan(o)
	case !o.isOurs():
		return leaveAlone(o)
	case o.policy.isLeft(o.service):
		return cleanUp(o)
	default:
		return withSeat(o, withClass(o, provide(o)))
	}
}

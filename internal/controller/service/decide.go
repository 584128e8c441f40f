package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer on a Service keeps the object until its load balancer is gone. It
// is upstream's.
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// Policy is which Services are ours, and how their load balancers are kept.
type Policy struct {
	// Classes are the values of spec.loadBalancerClass that are served beside
	// the absence of one.
	Classes []string
	// Resync is the period in which an unchanged load balancer is compared with
	// the cloud; 0 means never.
	Resync time.Duration
}

// observed is all that a decision about one Service may look at.
type observed struct {
	now     time.Time
	service *corev1.Service // the informer's: never changed; nil: there is none
	// backends names the newest set of nodes, see backends.
	backends string
	// hosts is how many nodes are in it.
	hosts  int
	memory memory
	policy Policy
	// wasForeign: the Service was in a class of others when it last had one.
	wasForeign bool
	// elsewhere: for the last Service that the provider was asked about, somebody
	// else provides the load balancer.
	elsewhere bool
	// spread in [0, 1) keeps the resyncs of many Services apart.
	spread float64
}

// about is the object whose owner is to be told.
func (o observed) about() *corev1.Service {
	if o.service == nil {
		return o.memory.service
	}
	return o.service
}

// memory is what this process remembers of a Service between passes.
type memory struct {
	uid types.UID
	// service is as the cloud was last told it: what has to be deleted, should
	// the object be gone.
	service *corev1.Service
	// wanted is the shape that the cloud was last brought in line with, and
	// backends the set of nodes that it has; empty: nobody knows.
	wanted, backends string
	ensuredAt        time.Time
	// status is what the provider has returned; nil: nothing yet.
	status *corev1.LoadBalancerStatus
	// published is whether the Service has shown the status.
	published bool
	// doubt: a call has failed, and nobody knows how much of it was done.
	doubt bool
	// elsewhere: somebody else provides the load balancer.
	elsewhere bool
	// deleted: the provider has said that the load balancer is gone.
	deleted bool
	failure failure
	// announced is the shape for which "Ensuring" was recorded.
	announced string
	told      notice
	// worded is when conditions were last written, and stated the status that
	// each has had since; it is never changed, but replaced.
	worded time.Time
	stated map[string]metav1.ConditionStatus
	// repairedAt is when something that somebody else had undone was put back.
	repairedAt time.Time
}

// failure is why the last call did not succeed. The zero value is none.
type failure struct {
	refusal
	during step
	// of is the shape that failed: another one is tried at once.
	of string
	// count is how often in a row, and grown how often the delay has grown.
	count, grown int
	since        time.Time
	// until is before when nothing is tried again.
	until time.Time
}

// refusal is why something cannot be done now: a reason of the closed set in
// events.go, a message with cause and way out, and the provider's own text.
type refusal struct{ reason, message, text string }

// notice is what was last recorded as an event.
type notice struct {
	reason string
	at     time.Time
}

// step is what a pass does next.
type step int

const (
	nothing step = iota
	forget
	addFinalizer
	ensure
	update
	remove // the load balancer
	publish
	release // the object: finalizer, status and conditions go
	wait
)

func (s step) String() string {
	return [...]string{"nothing", "forget", "addFinalizer", "ensure", "update", "remove", "publish", "release", "wait"}[s]
}

// plan is the next step for one Service, and why.
type plan struct {
	do  step
	why string
	// quiet: a success is no news for the owner.
	quiet  bool
	writes writes
	// service is whom a call is about.
	service *corev1.Service
	// after is when to look again; 0 waits for news.
	after time.Duration
	// awaited: somebody waits for what can be done then.
	awaited bool
	memory  memory
}

// isCall tells whether the step is a call to the cloud.
func (p plan) isCall() bool { return p.do == ensure || p.do == update || p.do == remove }

// decide is the one decision about one Service: the next step, until nothing is
// left to do.
func decide(o observed) plan {
	switch {
	case o.service == nil:
		return gone(o, nil)
	case o.memory.uid != "" && o.memory.uid != o.service.UID:
		return gone(o, o.service)
	case !o.policy.isOurs(o.service), o.wasForeign:
		return giveUp(o)
	case o.service.DeletionTimestamp != nil, o.service.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return cleanUp(o)
	default:
		return provide(o)
	}
}

// gone deals with a load balancer whose object is not there any more: somebody
// has removed the finalizer, or deleted the object with force. successor has
// taken over its name.
func gone(o observed, successor *corev1.Service) plan {
	if o.memory.service == nil || o.memory.deleted {
		return plan{do: forget, why: "there is no such Service"}
	}
	why := "the Service is gone and its load balancer may still exist"
	if successor != nil {
		why = "another Service has taken over the name, and the load balancer of the former may still exist"
	}
	return remedy(o, plan{do: remove, why: why, service: o.memory.service})
}

// remedy is a step that calls the cloud, unless the last such call failed a
// short time ago.
func remedy(o observed, p plan) plan {
	p.memory = o.memory
	f := o.memory.failure
	if f.count == 0 || f.of != shapeFor(p.service) || (f.during == remove) != (p.do == remove) || !o.now.Before(f.until) {
		return p
	}
	return waiting(o, f.until.Sub(o.now))
}

package cloud

import (
	"math/rand/v2"
	"slices"
	"time"
)

// classKey names a class: calls that a cloud is likely to count against the same quota,
// and that are likely to fail together. A region is named only by calls about a Node
// that has one.
type classKey struct{ kind, region string }

// The kinds of calls. They are label values of metrics, so the set is closed.
const (
	instanceCalls     = "instances"
	existenceCalls    = "existence"
	shutdownCalls     = "shutdown"
	terminationCalls  = "terminations"
	listCalls         = "list of instances"
	watchCalls        = "watch of instances"
	loadBalancerCalls = "load balancers"
	routeListCalls    = "list of routes"
	routeCalls        = "routes"
	volumeCalls       = "volumes"
)

// kinds of the methods; all other methods ask about an instance.
func kindOf(method string) string {
	switch method {
	case "InstanceExists", "InstanceExistsByProviderID":
		return existenceCalls
	case "InstanceShutdown", "InstanceShutdownByProviderID":
		return shutdownCalls
	case "InstanceTermination":
		return terminationCalls
	case "ListInstances":
		return listCalls
	case "WatchInstances":
		return watchCalls
	case "EnsureLoadBalancer", "UpdateLoadBalancer", "EnsureLoadBalancerDeleted", "GetLoadBalancer", "SetBackends":
		return loadBalancerCalls
	case "ListRoutes":
		return routeListCalls
	case "CreateRoute", "DeleteRoute", "ApplyRoutes":
		return routeCalls
	case "GetLabelsForVolume":
		return volumeCalls
	}
	return instanceCalls
}

// String returns the name of the class for messages.
func (k classKey) String() string {
	if k.region == "" {
		return k.kind
	}
	return k.kind + " in " + k.region
}

// class is what the limiter knows about the calls of one class. It is guarded by the
// mutex of the limiter.
type class struct {
	key      classKey
	turns    turns
	rate     rate
	width    width
	hold     hold
	failures failures

	underWay, lasting int       // calls that have begun and not returned, and those of them that take long
	began, used       time.Time // when a call last began, and when one was last made, held back or answered
	answered, closed  time.Time // when a call was last answered, and when a hold last ended
	usual             float64   // the usual duration of an answered call, in seconds
	again             int       // failures in a row of objects whose calls had failed before; see failsAgain
	tested, refuted   time.Time // when the last of them was, and when they were last found out to fail for reasons of their own

	single bool  // the cloud counts each object of a call about many
	batch  int   // how many objects a call may be about; 0: not yet known
	waits  waits // what calls of this class have waited for
}

func (c *class) running() int { return c.underWay - c.lasting }

// isIdle reports whether the class can be forgotten.
func (c *class) isIdle(now time.Time) bool {
	return c.underWay == 0 && c.turns.count(refreshPriority) == 0 && now.Sub(c.used) > anHour
}

// isDown reports whether the calls of the class fail for all objects. Errors that nobody
// can read do not show that: all questions of a class may be about Nodes of another cloud.
func (c *class) isDown(now time.Time) bool {
	n := len(c.failures.since(c.answered, hasFailed))
	return n >= many || n >= few && (now.Sub(c.answered) >= moment || now.Sub(c.closed) < lately)
}

// close ends the hold, if there is one.
func (c *class) close(now time.Time) {
	if c.hold.isOpen() {
		c.hold, c.closed = hold{}, now
	}
}

// paused returns the error of a call that is not made, because the last calls for its
// tenant were refused and the calls of the class are not limited.
func (c *class) paused(by call, now time.Time) error {
	if c.rate.perSecond > 0 || by.split { // Its objects were looked at one by one.
		return nil
	}
	if wait := c.failures.turn(by.object(), rand.Float64(), now); wait > 0 { //nolint:gosec // no secret
		return pausedFor(by, wait)
	}
	return nil
}

func pausedFor(by call, wait time.Duration) *Error {
	return &Error{Call: by.method, Kind: Throttled, RetryAfter: wait, Err: errQuota, unmade: true}
}

// failsAgain records that a call has failed once more for an object whose error may be its
// own, or mean that the quota is used up. While calls are limited, such calls are made
// again first, and slowly. If several fail in a row, slower calls do not help, so the
// quota is not the reason.
func (c *class) failsAgain(started, now time.Time) {
	if c.rate.perSecond == 0 || !started.After(c.tested) {
		return
	}
	c.tested = now
	c.rate.pause(now, firstPause*3/4)
	if c.again++; c.again >= few {
		c.rate.perSecond, c.rate.paused, c.again, c.refuted = 0, now, 0, now
	}
}

// classOf returns the class of the call. If there are too many classes already, or while
// calls are held back, a region does not become a new one: a kubelet could invent one
// region after another, and the cloud would get calls for each. The caller holds mu.
func (l *limiter) classOf(c call, now time.Time) *class {
	if c.class != nil {
		return c.class
	}
	key := classKey{kindOf(c.method), c.region}
	if n := slices.IndexFunc(l.classes, func(c *class) bool { return c.key == key }); n >= 0 {
		return l.classes[n]
	}
	if len(l.classes) >= maxClasses {
		l.classes = slices.DeleteFunc(l.classes, func(c *class) bool { return c.isIdle(now) })
	}
	isHeld := slices.ContainsFunc(l.classes, func(c *class) bool { return c.hold.isOpen() })
	if key.region != "" && (isHeld || len(l.classes) >= maxClasses) {
		c.region = ""
		return l.classOf(c, now)
	}
	added := &class{key: key}
	l.classes = append(l.classes, added)
	return added
}

package cloud

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// If the provider panics for more than maxPanics objects, the process must be
	// restarted. Panics for fewer objects do not end the process, because an object
	// might be the cause, and would then end one replica after the other. All Services
	// of a namespace count as one object, because one tenant can cause a panic for each
	// of them. For the same reason, a Node and its routes count as one object.
	maxPanics = 2
	// panicsCountFor is the time during which a panic counts towards maxPanics.
	panicsCountFor = 10 * time.Minute
	// grace is the time between the deadline of a call and the moment at which
	// the call counts as overdue.
	grace = 10 * time.Second
	// maxOverdue is the number of overdue calls at which the process must be restarted.
	// It is half of maxInflight, so that there is still room for slow calls beside
	// those that never return.
	maxOverdue = maxInflight / 2
)

// panicPauses are the pauses after the first panic for an object, after the
// second one, and after each later one. During the pause no question about the
// object is asked.
var panicPauses = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}

// health decides whether the provider's state in memory can still be trusted.
// After a panic, a lock might still be held, or a map might be half written. Then
// a later call might never return (promise S8).
type health struct {
	mu           sync.Mutex
	panics       map[string]panics // by object; guarded by mu
	nameless     int               // the number of panics in calls without names; guarded by mu
	everPanicked bool              // whether the provider has ever panicked; guarded by mu
	overdue      int               // the number of running calls that are overdue; guarded by mu
	restart      chan error        // gets the one reason to restart

	// setOverdue is called with the number of overdue calls whenever it changes.
	setOverdue func(float64)
}

// panics records the panics for one object.
type panics struct {
	times int
	last  time.Time
	names digest // of the object's names at the last panic
	value any
	// counted is the name under which the last panic counts towards maxPanics, such as
	// the namespace of a Service. It is empty if the panic does not count.
	counted string
}

// pause returns the pause after the last panic; see panicPauses.
func (p panics) pause() time.Duration { return panicPauses[min(p.times, len(panicPauses))-1] }

// counted returns the number of objects whose last panic was within panicsCountFor.
func counted(all map[string]panics, now time.Time) int {
	objects := map[string]bool{}
	for _, p := range all {
		if p.counted != "" && now.Sub(p.last) < panicsCountFor {
			objects[p.counted] = true
		}
	}
	return len(objects)
}

func newHealth(setOverdue func(float64)) *health {
	return &health{panics: map[string]panics{}, restart: make(chan error, 1), setOverdue: setOverdue}
}

// panicked records a panic, and returns the time during which the object is left alone.
// Each panic of a call without names counts as the panic of another object. A panic of
// a call about many objects does not count, because the gateway then makes a call for
// each object. If one of these objects is the cause, its own call panics, and that panic
// counts.
func (h *health) panicked(c call, value any) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.everPanicked = true
	now := time.Now()
	// An object has recovered if its last panic is older than panicsCountFor and
	// older than twice the pause. Its panics are then forgotten.
	maps.DeleteFunc(h.panics, func(_ string, p panics) bool { return now.Sub(p.last) > max(2*p.pause(), panicsCountFor) })
	object, names := c.odd()
	p := panics{times: h.panics[object].times + 1, last: now, names: names, value: value, counted: c.object()}
	switch {
	case object == "":
		h.nameless++
		object = fmt.Sprintf("#%d", h.nameless)
		p.counted = object
	case c.split:
		p.counted = ""
	}
	h.panics[object] = p
	if n := counted(h.panics, now); n > maxPanics {
		h.needRestart(fmt.Errorf("the provider has panicked for %d objects within %v, last in %s: %v", n, panicsCountFor, c.method, value))
	}
	return p.pause()
}

// leftAlone returns an error if a call about this object has panicked recently. It
// returns nil if the call may be made. If one of the object's names has changed since
// the panic, the call may be made at once.
func (h *health) leftAlone(c call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	object, names := c.odd()
	p, found := h.panics[object]
	if !found || p.names != names {
		return nil
	}
	wait := time.Until(p.last.Add(p.pause()))
	if wait <= 0 {
		return nil
	}
	failed := c.failed(Panicked, panicError(p.value))
	failed.RetryAfter = wait
	return failed
}

// panicError returns the error of a call that has panicked. While the object is left
// alone, further calls about it get an error with the same text. So an object that
// shows the text of the error does not change with each of these calls.
func panicError(value any) error { return fmt.Errorf("the provider panicked: %v", value) }

// exhausted records that no more calls can be made, because n calls hang past
// their deadline. Only a restart of the process helps.
func (h *health) exhausted(n int, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needRestart(hanging(n, what))
}

func hanging(n int, what string) error {
	return fmt.Errorf("%d %s have not returned %v after their deadline, so others cannot be made", n, what, grace)
}

// watch counts the call as overdue if it does not return within the time grace after
// its deadline. The caller must call the returned function after the call.
func (h *health) watch(a attempt) (returned func()) {
	var late bool // guarded by h.mu
	timer := time.AfterFunc(a.timeout+grace, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		late = true
		h.overdue++
		h.setOverdue(float64(h.overdue))
		if h.overdue >= maxOverdue {
			h.needRestart(hanging(h.overdue, "calls"))
		}
		if h.everPanicked {
			h.needRestart(fmt.Errorf("the provider has panicked before, and now %s does not return %v after its deadline", a.method, grace))
		}
	})
	return func() {
		timer.Stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		if late {
			h.overdue--
			h.setOverdue(float64(h.overdue))
		}
	}
}

// needRestart keeps the first reason. The caller holds mu.
func (h *health) needRestart(err error) {
	select {
	case h.restart <- err:
	default: // One reason is enough.
	}
}

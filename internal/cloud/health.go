package cloud

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// maxPanics is the number of objects for which the provider may panic before
	// the process must be restarted. Panics for a single object do not end the
	// process, because the object may be their cause, and would end each replica in
	// turn. All Services of a namespace count as one object, and so do a Node and its
	// routes: whoever can cause a panic for one of them can cause a panic for each of
	// them.
	maxPanics = 2
	// panicsCountFor is how long a panic counts towards maxPanics.
	panicsCountFor = 10 * time.Minute
	// grace is how long after its deadline a call may return before it counts as
	// overdue.
	grace = 10 * time.Second
	// maxOverdue is how many calls may hang past their deadline before the process
	// must be restarted. It is half of maxInflight, so that calls that never return
	// leave room for calls that are only slow.
	maxOverdue = maxInflight / 2
)

// panicPauses are how long an object is left alone after the first, the second
// and each further panic for it.
var panicPauses = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}

// health decides whether the provider's state in memory can still be trusted. A
// panic may have left a lock held or a map half written, so that a later call may
// hang for ever (promise S8).
type health struct {
	mu           sync.Mutex
	panics       map[string]panics // by object; guarded by mu
	nameless     int               // how many panics were in calls without names; guarded by mu
	everPanicked bool              // whether there was ever a panic; guarded by mu
	overdue      int               // running calls that are overdue; guarded by mu
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
	// counted is the object for which the last panic counts, empty if it counts for
	// no object.
	counted string
}

// pause returns how long the object is left alone.
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

// panicked records a panic, and returns how long no call is made about the object.
// A panic in a call without names counts as a panic for one more object. A panic of
// a call that is split does not count: if one of its objects is the cause, the call
// for that object panics, too.
func (h *health) panicked(c call, value any) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.everPanicked = true
	now := time.Now()
	// An object has recovered if no call about it has panicked for twice the pause, and
	// for panicsCountFor at least.
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

// leftAlone returns an error if a call about this object has panicked a short time
// ago, and nil if the call may be made. The call may be made at once if the
// object's owner has changed one of its names.
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

// panicError returns the error of a call that has panicked, and of the next calls
// about the object, which are not made. The text stays the same, so that an object
// that shows it is not written again.
func panicError(value any) error { return fmt.Errorf("the provider panicked: %v", value) }

// exhausted records that no further call can be made, because n calls hang past
// their deadline. Only a restart of the process helps.
func (h *health) exhausted(n int, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needRestart(hanging(n, what))
}

func hanging(n int, what string) error {
	return fmt.Errorf("%d %s have not returned %v after their deadline, so others cannot be made", n, what, grace)
}

// watch takes note of a call that has not returned when grace has passed after
// its deadline. The caller calls the returned function when the call has
// returned.
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

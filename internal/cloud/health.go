package cloud

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// maxPanics is for how many objects the provider may panic before the process
	// must be restarted. Panics for one object may be the object's doing: if they
	// ended the process, one odd object would end each replica in turn.
	maxPanics = 2
	// panicsCountFor is how long a panic counts.
	panicsCountFor = 10 * time.Minute
	// grace is the time after its deadline in which a call should return.
	grace = 10 * time.Second
	// maxOverdue is how many calls may hang past their deadline before the process
	// must be restarted. It is half of the questions that may be under way: calls
	// that are only slow must not be refused because of those that never return.
	maxOverdue = maxInflight / 2
)

// panicPauses are how long an object is left alone after the first, the second
// and each further panic for it.
var panicPauses = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}

// health is whether the provider's state in memory can be trusted. A panic may
// have left a lock taken or a map half written, so that a later call may hang
// for ever (promise S8).
type health struct {
	mu           sync.Mutex
	panics       map[string]panics // by object; guarded by mu
	nameless     int               // how many panics were about no single object; guarded by mu
	everPanicked bool              // at least once, however long ago; guarded by mu
	overdue      int               // calls under way past their deadline; guarded by mu
	restart      chan error        // gets the one reason to restart

	// setOverdue is told how many calls are overdue whenever that changes.
	setOverdue func(float64)
}

// panics are those for one object.
type panics struct {
	times int
	last  time.Time
	names string // of the object when it was last asked about, as its owner has chosen them
	value any
}

// pause returns how long the object is left alone.
func (p panics) pause() time.Duration { return panicPauses[min(p.times, len(panicPauses))-1] }

// counted returns how many of the objects had their last panic a short time ago.
func counted(all map[string]panics, now time.Time) int {
	n := 0
	for _, p := range all {
		if now.Sub(p.last) < panicsCountFor {
			n++
		}
	}
	return n
}

func newHealth(setOverdue func(float64)) *health {
	return &health{panics: map[string]panics{}, restart: make(chan error, 1), setOverdue: setOverdue}
}

// panicked takes note of a panic, and returns how long the object of the call is
// left alone. A panic that is about no single object counts as one for an object
// of its own.
func (h *health) panicked(c call, value any) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.everPanicked = true
	now := time.Now()
	// An object whose pause is over and that has not panicked for as long again
	// has recovered.
	maps.DeleteFunc(h.panics, func(_ string, p panics) bool { return now.Sub(p.last) > max(2*p.pause(), panicsCountFor) })
	object, names := c.odd()
	if object == "" {
		h.nameless++
		object = fmt.Sprintf("#%d", h.nameless)
	}
	p := panics{times: h.panics[object].times + 1, last: now, names: names, value: value}
	h.panics[object] = p
	if n := counted(h.panics, now); n > maxPanics {
		h.needRestart(fmt.Errorf("the provider has panicked for %d objects within %v, last in %s: %v", n, panicsCountFor, c.method, value))
	}
	return p.pause()
}

// leftAlone returns the error of a call about an object that has panicked a
// short time ago, nil if the call may be made. An object that its owner has
// changed is not left alone.
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

// panicError is why a call about an object has failed, and why the next one is
// not made. The text stays the same, so that what shows it is not written again.
func panicError(value any) error { return fmt.Errorf("the provider panicked: %v", value) }

// exhausted takes note that so many calls hang past their deadline that others
// cannot be made any more. Only another process can make them.
func (h *health) exhausted(n int, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needRestart(hanging(n, what))
}

func hanging(n int, what string) error {
	return fmt.Errorf("%d %s have not returned %v after their deadline, so others cannot be made", n, what, grace)
}

// watch notices that a call has not returned some time after its deadline. The
// caller calls the returned function when the call has returned.
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

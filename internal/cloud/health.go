package cloud

import (
	"fmt"
	"sync"
	"time"
)

const (
	// maxPanics is how many panics a provider may have before the process must be
	// restarted.
	maxPanics = 2
	// grace is the time after its deadline in which a call should return.
	grace = 10 * time.Second
)

// health is whether the provider's state in memory can be trusted. A panic may
// have left a lock taken or a map half written, so that a later call may hang
// for ever (promise S8).
type health struct {
	mu      sync.Mutex
	panics  int        // guarded by mu
	overdue int        // calls under way past their deadline; guarded by mu
	restart chan error // gets the one reason to restart

	// setOverdue is told how many calls are overdue whenever that changes.
	setOverdue func(float64)
}

func newHealth(setOverdue func(float64)) *health {
	return &health{restart: make(chan error, 1), setOverdue: setOverdue}
}

func (h *health) panicked(method string, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.panics++
	if h.panics > maxPanics {
		h.needRestart(fmt.Errorf("the provider has panicked %d times, last in %s: %v", h.panics, method, value))
	}
}

// watch notices that a call has not returned some time after its deadline. The
// caller calls the returned function when the call has returned.
func (h *health) watch(method string, timeout time.Duration) (returned func()) {
	var late bool // guarded by h.mu
	timer := time.AfterFunc(timeout+grace, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		late = true
		h.overdue++
		h.setOverdue(float64(h.overdue))
		if h.panics > 0 {
			h.needRestart(fmt.Errorf("the provider has panicked before, and now %s does not return %v after its deadline", method, grace))
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

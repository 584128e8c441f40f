package cloud

import (
	"fmt"
	"sync"
	"time"
)

const (
	// tolerated is how many panics a provider may have before the process is
	// restarted.
	tolerated = 2
	// grace is how long after its deadline a call may take to return.
	grace = 10 * time.Second
)

// damage watches for a provider whose memory can no longer be trusted. A panic
// may have left a lock taken or a map half written, so that a later call may
// hang for ever (S8).
type damage struct {
	mu      sync.Mutex
	panics  int        // guarded by mu
	overdue int        // calls under way past their deadline; guarded by mu
	fatal   chan error // gets the one reason to restart

	// show is told how many calls are overdue whenever that changes.
	show func(float64)
}

func newDamage(show func(float64)) *damage { return &damage{fatal: make(chan error, 1), show: show} }

func (d *damage) panicked(call string, value any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.panics++
	if d.panics > tolerated {
		d.report(fmt.Errorf("the provider has panicked %d times, last in %s: %v", d.panics, call, value))
	}
}

// watch notices when the call has not returned some time after its deadline.
// The returned function is to be called when it has.
func (d *damage) watch(call string, timeout time.Duration) (returned func()) {
	var late bool // guarded by d.mu
	timer := time.AfterFunc(timeout+grace, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		late = true
		d.overdue++
		d.show(float64(d.overdue))
		if d.panics > 0 {
			d.report(fmt.Errorf("the provider has panicked before, and now %s does not return %v after its deadline", call, grace))
		}
	})
	return func() {
		timer.Stop()
		d.mu.Lock()
		defer d.mu.Unlock()
		if late {
			d.overdue--
			d.show(float64(d.overdue))
		}
	}
}

// report needs mu.
func (d *damage) report(err error) {
	select {
	case d.fatal <- err:
	default: // One reason is enough.
	}
}

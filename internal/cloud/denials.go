package cloud

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// minDenied is the number of distinct objects for which a method has to be
	// denied, with no success in between, until the credentials count as denied.
	minDenied = 3
	// firstProbe and longestProbe bound the pause between two calls of a denied
	// method. With a longer pause, users would wait after the credentials were
	// corrected.
	firstProbe   = time.Second
	longestProbe = 30 * time.Second
)

// denials stops calls to a cloud that denies all of them, because many failed
// logins a second may lock an account. One call at a time finds out whether the
// cloud still denies them. Calls about a tenant's object are neither counted nor
// stopped: they may be denied for what the tenant asks for, and each object waits
// by itself. The zero value is ready to use.
type denials struct {
	mu       sync.Mutex
	byMethod map[string]*denial // guarded by mu
}

// denial is what is known of one method. A role may allow one method and deny
// another.
type denial struct {
	objects map[string]bool // objects that were denied after the last success, minDenied at most
	err     error           // the error of the first denied call
	probed  time.Time       // when the last probe was admitted; zero: none
	next    time.Time       // when the next probe may be made
	pause   time.Duration   // the pause after the next denied probe
}

// admit returns nil if the call may be made. Otherwise it returns an error with
// the reason for which other calls were denied.
func (d *denials) admit(c call) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.byMethod[c.method]
	if known == nil || len(known.objects) < minDenied {
		return nil
	}
	now := time.Now()
	if now.Before(known.next) {
		return c.failed(Denied, fmt.Errorf("%w: %w", errDenied, known.err))
	}
	known.probed, known.next = now, now.Add(longestProbe) // or sooner, when this call has ended
	return nil
}

var errDenied = fmt.Errorf("the cloud denies this call for other objects, too, and is asked at most every %v until it allows it", longestProbe)

// record takes note of how a call has ended.
func (d *denials) record(c call, started time.Time, err error) {
	if c.tenant != "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.byMethod[c.method]
	switch kind := KindOf(err); {
	case kind == Denied:
		if known == nil {
			known = &denial{objects: map[string]bool{}, err: errors.Unwrap(err), pause: firstProbe}
			if d.byMethod == nil {
				d.byMethod = map[string]*denial{}
			}
			d.byMethod[c.method] = known
		}
		known.denied(c.object(), started)
	case isAnswer(kind) && (kind != Failed || EvidenceOf(err) == Typed):
		delete(d.byMethod, c.method)
	case known != nil && len(known.objects) == minDenied:
		known.next = time.Now().Add(known.pause)
	}
}

func (d *denial) denied(object string, started time.Time) {
	switch {
	case len(d.objects) < minDenied:
		d.objects[object] = true
	case !d.probed.IsZero() && !started.Before(d.probed): // This call was the probe.
		d.pause = min(2*d.pause, longestProbe)
	default:
		return // It was under way when the others were denied.
	}
	d.next = time.Now().Add(d.pause)
}

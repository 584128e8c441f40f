package cloud

import (
	"fmt"
	"sync"
	"time"
)

// state is what the gateway has last seen of the cloud.
type state struct {
	mu       sync.Mutex
	answered time.Time // the cloud's last answer, zero before the first; guarded by mu
	failures int       // calls since then that brought none; guarded by mu
	last     Kind      // of the last of them; guarded by mu
}

func (s *state) settled(kind Kind, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case Succeeded, NotFound, NotImplemented, Elsewhere, Pending, Invalid:
		s.answered, s.failures = now, 0
	case Failed, Throttled, Denied, Unavailable, TimedOut, Panicked, NoAnswer:
		s.failures++
		s.last = kind
	case Slow, Canceled:
		// The call is under way, or we have ended it.
	}
}

// State says in words what was last seen of the cloud. It names kinds of
// errors and not the errors, so that everybody may read it.
func (g *Gateway) State() string {
	s := &g.state
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := "has not answered yet"
	if !s.answered.IsZero() {
		answered = fmt.Sprintf("last answered %v ago", g.clock.Since(s.answered).Truncate(time.Second))
	}
	switch s.failures {
	case 0:
		return answered
	case 1:
		return fmt.Sprintf("%s, one call failed since (%s)", answered, s.last)
	default:
		return fmt.Sprintf("%s, %d calls failed since, the last: %s", answered, s.failures, s.last)
	}
}

package cloud

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// state records how the last calls to the cloud have ended.
type state struct {
	mu       sync.Mutex
	answered time.Time // the time of the cloud's last answer, zero before the first; guarded by mu
	failures int       // the number of failures since then; guarded by mu
	last     Kind      // the kind of the last failure; guarded by mu
}

func (s *state) record(kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case Succeeded, NotFound, NotImplemented, Elsewhere, Pending, Invalid, Conflict, QuotaExceeded:
		s.answered, s.failures = time.Now(), 0
	case Failed, Throttled, Denied, Unavailable, TimedOut, Panicked, NoAnswer:
		s.failures++
		s.last = kind
	case Slow, Canceled:
		// Such an error says nothing about the cloud, because the call is under way or
		// this process has ended it.
	}
}

// State describes in words how the last calls to the cloud have ended, and whether
// the watch of instances works. It names only the kinds of errors, because the
// texts of errors might contain secrets.
func (g *Gateway) State() string {
	said := []string{g.state.describe(g.limiter.held())}
	for _, limit := range g.limiter.limits() {
		said = append(said, limit.String())
	}
	if i := g.Instances(); i != nil && i.watcher != nil {
		said = append(said, i.watcher.State())
	}
	return strings.Join(said, "; ")
}

// describe returns the state in words. down is the limiter's text about calls that are
// held back, or empty if no calls are held back.
func (s *state) describe(down string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := "has not answered yet"
	if !s.answered.IsZero() {
		answered = fmt.Sprintf("last answered %v ago", time.Since(s.answered).Truncate(time.Second))
	}
	switch {
	case down != "":
		return answered + ", " + down
	case s.failures == 0:
		return answered
	case s.failures == 1:
		return fmt.Sprintf("%s, one call failed since (%s)", answered, s.last)
	default:
		return fmt.Sprintf("%s, %d calls failed since, the last: %s", answered, s.failures, s.last)
	}
}

package cloud

import (
	"fmt"
	"sync"
	"time"
)

// ledger knows which keys a change is under way for.
type ledger struct {
	mu       sync.Mutex
	entries  map[string]entry // guarded by mu
	stranded int              // entries whose caller was let go; guarded by mu
}

type entry struct {
	call     string
	since    time.Time
	stranded bool
}

// enter takes the key, unless a change for it has not returned yet, or too many
// others have not.
func (l *ledger) enter(key, call string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.entries[key]; ok {
		return fmt.Errorf("%s, which began at %s, has not returned", e.call, e.since.UTC().Format(time.TimeOnly))
	}
	if l.stranded >= maxStuck {
		return fmt.Errorf("%d calls have not returned after their deadline", l.stranded)
	}
	if l.entries == nil {
		l.entries = map[string]entry{}
	}
	l.entries[key] = entry{call: call, since: now}
	return nil
}

func (l *ledger) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[key].stranded {
		l.stranded--
	}
	delete(l.entries, key)
}

// strand takes note that nobody waits for the change any more.
func (l *ledger) strand(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.entries[key]; ok {
		e.stranded = true
		l.entries[key] = e
		l.stranded++
	}
}

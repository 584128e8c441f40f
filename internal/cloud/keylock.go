package cloud

import (
	"fmt"
	"sync"
	"time"
)

// maxAbandoned bounds the changes that have outlived their deadline.
const maxAbandoned = 16

// keyLock allows one change at a time for each key. A change that has outlived its
// deadline is abandoned: no caller waits for it, but it keeps its key.
type keyLock struct {
	mu        sync.Mutex
	holders   map[string]holder // by key; guarded by mu
	abandoned int               // how many holders are abandoned; guarded by mu
}

type holder struct {
	method    string
	since     time.Time
	abandoned bool
}

// acquire takes the key, unless a change for it has not returned yet, or too
// many other changes are abandoned.
func (l *keyLock) acquire(key, method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.holders[key]; ok {
		return fmt.Errorf("%s, which began at %s, has not returned", h.method, h.since.UTC().Format(time.TimeOnly))
	}
	if l.abandoned >= maxAbandoned {
		return fmt.Errorf("%d calls have not returned after their deadline", l.abandoned)
	}
	if l.holders == nil {
		l.holders = map[string]holder{}
	}
	l.holders[key] = holder{method: method, since: time.Now()}
	return nil
}

func (l *keyLock) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders[key].abandoned {
		l.abandoned--
	}
	delete(l.holders, key)
}

// abandon records that no caller waits for the change any more. It reports whether
// the limit of abandoned changes is reached, so that no further change may begin.
func (l *keyLock) abandon(key string) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.holders[key]; ok {
		h.abandoned = true
		l.holders[key] = h
		l.abandoned++
	}
	return l.abandoned >= maxAbandoned
}

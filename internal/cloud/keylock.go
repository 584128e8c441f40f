package cloud

import (
	"fmt"
	"sync"
	"time"
)

// While maxAbandoned changes are abandoned, new changes are refused. Changes of load
// balancers and changes of routes are counted separately.
const maxAbandoned = 16

// keyLock allows one change at a time for each key. A change that has outlived its
// deadline is abandoned: no caller waits for it, but it keeps its key.
type keyLock struct {
	mu        sync.Mutex
	holders   map[string]*holder // by key; guarded by mu
	abandoned int                // the number of abandoned holders; guarded by mu
}

// holder is a change that holds one or several keys.
type holder struct {
	method    string
	since     time.Time
	abandoned bool
}

// acquire takes the key. It fails if a change holds the key, or if maxAbandoned
// changes are abandoned.
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
		l.holders = map[string]*holder{}
	}
	l.holders[key] = &holder{method: method, since: time.Now()}
	return nil
}

// join makes one change the holder of all these keys. The caller has acquired
// them.
func (l *keyLock) join(keys []string, method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &holder{method: method, since: time.Now()}
	for _, key := range keys {
		l.holders[key] = one
	}
}

// release frees the keys of one holder.
func (l *keyLock) release(keys ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holders[keys[0]]; h != nil && h.abandoned {
		l.abandoned--
	}
	for _, key := range keys {
		delete(l.holders, key)
	}
}

// abandon records that no caller waits any more for the change that holds the key. It
// reports whether no new change can begin because maxAbandoned changes are abandoned.
func (l *keyLock) abandon(key string) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holders[key]; h != nil {
		h.abandoned = true
		l.abandoned++
	}
	return l.abandoned >= maxAbandoned
}

// hangs reports whether a change has outlived its deadline and has not returned.
func (l *keyLock) hangs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.abandoned > 0
}

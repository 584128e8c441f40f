package loop

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// lanes is the order of the keys that wait: first come, first served, but keys
// that somebody waits for go before those that nobody does. It is the order of
// a workqueue, which calls it under a lock of its own.
type lanes struct {
	clock clock.PassiveClock

	mu           sync.Mutex
	calm         map[string]bool      // keys that nobody waits for; guarded by mu
	since        map[string]time.Time // when a key that waits was queued; guarded by mu
	urgent, rest []string             // guarded by mu
}

func newLanes(c clock.PassiveClock) *lanes {
	return &lanes{clock: c, calm: map[string]bool{}, since: map[string]time.Time{}}
}

// expect says in which lane the key waits, or will when it is queued.
func (l *lanes) expect(key string, u Urgency) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u == Calm {
		if !slices.Contains(l.urgent, key) {
			l.calm[key] = true
		}
		return
	}
	delete(l.calm, key)
}

// Push is part of workqueue.Queue.
func (l *lanes) Push(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since[key] = l.clock.Now()
	if l.calm[key] {
		l.rest = append(l.rest, key)
		return
	}
	l.urgent = append(l.urgent, key)
}

// Touch is part of workqueue.Queue: a key that waits was added again.
func (l *lanes) Touch(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.rest, key); i >= 0 && !l.calm[key] {
		l.rest = slices.Delete(l.rest, i, i+1)
		l.urgent = append(l.urgent, key)
	}
}

// Len is part of workqueue.Queue.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.urgent) + len(l.rest)
}

// Pop is part of workqueue.Queue.
func (l *lanes) Pop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := &l.urgent
	if len(*lane) == 0 {
		lane = &l.rest
	}
	key := (*lane)[0]
	*lane = slices.Delete(*lane, 0, 1)
	delete(l.calm, key)
	delete(l.since, key)
	return key
}

// waiting are the keys that have waited longer than the limit, in order.
func (l *lanes) waiting(limit time.Duration) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for _, key := range slices.Concat(l.urgent, l.rest) {
		if l.clock.Since(l.since[key]) > limit {
			keys = append(keys, key)
		}
	}
	return keys
}

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

	mu sync.Mutex
	// asked are the keys that somebody waits for, from the question until they
	// are taken: also while they wait for a delay, or for a pass to end; guarded
	// by mu
	asked        map[string]bool
	since        map[string]time.Time // when a key that waits was queued; guarded by mu
	urgent, rest []string             // guarded by mu
}

func newLanes(c clock.PassiveClock) *lanes {
	return &lanes{clock: c, asked: map[string]bool{}, since: map[string]time.Time{}}
}

// expect says that a pass over the key is asked for. A calm question takes
// nothing from an urgent one.
func (l *lanes) expect(key string, u Urgency) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u == Urgent {
		l.asked[key] = true
	}
}

// Push is part of workqueue.Queue.
func (l *lanes) Push(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since[key] = l.clock.Now()
	if l.asked[key] {
		l.urgent = append(l.urgent, key)
		return
	}
	l.rest = append(l.rest, key)
}

// Touch is part of workqueue.Queue: a key that waits was added again.
func (l *lanes) Touch(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked[key] {
		return
	}
	if i := slices.Index(l.rest, key); i >= 0 {
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
	delete(l.asked, key)
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

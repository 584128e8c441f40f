package loop

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// priorityQueue orders the waiting keys: first in, first out, but all keys with
// high priority before those with low priority. The workqueue calls its methods
// with its own lock held.
type priorityQueue struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// raised has the keys with high priority, from the request until a worker
	// takes them. They can be here while they wait for a delay or for the end of
	// a pass; guarded by mu
	raised    map[string]bool
	since     map[string]time.Time // when a waiting key was queued; guarded by mu
	high, low []string             // guarded by mu
}

func newPriorityQueue(c clock.PassiveClock) *priorityQueue {
	return &priorityQueue{clock: c, raised: map[string]bool{}, since: map[string]time.Time{}}
}

// request records the priority of a requested pass. A request with low priority
// does not lower the priority of an earlier request.
func (q *priorityQueue) request(key string, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p == High {
		q.raised[key] = true
	}
}

// Push is part of workqueue.Queue.
func (q *priorityQueue) Push(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since[key] = q.clock.Now()
	if q.raised[key] {
		q.high = append(q.high, key)
		return
	}
	q.low = append(q.low, key)
}

// Touch is part of workqueue.Queue. It is called when a waiting key is added again.
func (q *priorityQueue) Touch(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.raised[key] {
		return
	}
	if i := slices.Index(q.low, key); i >= 0 {
		q.low = slices.Delete(q.low, i, i+1)
		q.high = append(q.high, key)
	}
}

// Len is part of workqueue.Queue.
func (q *priorityQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.high) + len(q.low)
}

// Pop is part of workqueue.Queue.
func (q *priorityQueue) Pop() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.high
	if len(*from) == 0 {
		from = &q.low
	}
	key := (*from)[0]
	*from = slices.Delete(*from, 0, 1)
	delete(q.raised, key)
	delete(q.since, key)
	return key
}

// waiting returns the keys that have waited longer than the limit, in order.
func (q *priorityQueue) waiting(limit time.Duration) []Waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []Waiting
	for _, key := range slices.Concat(q.high, q.low) {
		if since := q.since[key]; q.clock.Since(since) > limit {
			all = append(all, Waiting{key, since})
		}
	}
	return all
}

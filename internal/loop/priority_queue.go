package loop

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// lowEvery determines the share of keys with low priority. While keys of both
// priorities wait, one of every lowEvery keys that get a worker has low priority. So no
// key waits forever, even if keys with the other priority are added all the time.
const lowEvery = 3

// priorityQueue orders the waiting keys. Keys with high priority go first, except
// that keys with low priority get a share; see lowEvery. Among keys with the same
// priority, namespaces take turns. So no tenant waits for all keys of another
// tenant. Keys of one namespace are first in, first out. The workqueue holds its
// own lock while it calls the methods.
type priorityQueue struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// raised has the keys for which high priority was requested, until a worker takes
	// them. Some of them still wait for the end of a delay or of a pass; guarded by mu
	raised    map[string]bool
	since     map[string]time.Time // the time at which a waiting key was queued; guarded by mu
	high, low namespaces           // guarded by mu
	// passedOver is the number of keys with high priority that have got a worker in a
	// row while a key with low priority waited; guarded by mu
	passedOver int
}

func newPriorityQueue(c clock.PassiveClock) *priorityQueue {
	return &priorityQueue{clock: c, raised: map[string]bool{}, since: map[string]time.Time{}, high: newNamespaces(), low: newNamespaces()}
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

// Push implements workqueue.Queue.
func (q *priorityQueue) Push(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since[key] = q.clock.Now()
	if q.raised[key] {
		q.high.push(key)
		return
	}
	q.low.push(key)
}

// Touch implements workqueue.Queue. The workqueue calls Touch when a waiting key is
// added again.
func (q *priorityQueue) Touch(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.raised[key] && q.low.remove(key) {
		q.high.push(key)
	}
}

// Len implements workqueue.Queue.
func (q *priorityQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.since)
}

// Pop implements workqueue.Queue.
func (q *priorityQueue) Pop() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := q.turn()
	if from == &q.low || q.low.isEmpty() {
		q.passedOver = 0
	} else {
		q.passedOver++
	}
	key := from.pop()
	delete(q.raised, key)
	delete(q.since, key)
	return key
}

// turn returns the keys of the priority whose turn is next.
func (q *priorityQueue) turn() *namespaces {
	if q.high.isEmpty() || !q.low.isEmpty() && q.passedOver == lowEvery-1 {
		return &q.low
	}
	return &q.high
}

// waiting returns the keys that have waited longer than the limit. The key that
// has waited longest comes first.
func (q *priorityQueue) waiting(limit time.Duration) []Waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []Waiting
	for key, since := range q.since {
		if q.clock.Since(since) > limit {
			all = append(all, Waiting{key, since})
		}
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Key, b.Key))
	})
	return all
}

// namespaces has the waiting keys of one priority, by namespace. The time to add
// or to take a key does not depend on the number of keys.
type namespaces struct {
	turns  *list.List               // elements are *namespace, in the order of their next turn; none is empty
	byName map[string]*list.Element // elements of turns
	byKey  map[string]*list.Element // elements of namespace.keys
}

type namespace struct {
	name string     // empty for keys without a namespace
	keys *list.List // elements are strings
}

func newNamespaces() namespaces {
	return namespaces{turns: list.New(), byName: map[string]*list.Element{}, byKey: map[string]*list.Element{}}
}

func namespaceOf(key string) string {
	name, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return name
}

func (n *namespaces) isEmpty() bool { return n.turns.Len() == 0 }

func (n *namespaces) push(key string) {
	name := namespaceOf(key)
	if n.byName[name] == nil {
		n.byName[name] = n.turns.PushBack(&namespace{name, list.New()})
	}
	n.byKey[key] = n.byName[name].Value.(*namespace).keys.PushBack(key)
}

// pop takes the first key of the namespace whose turn it is. That namespace has its
// next turn after all others.
func (n *namespaces) pop() string {
	turn := n.turns.Front()
	key := turn.Value.(*namespace).keys.Front().Value.(string)
	n.turns.MoveToBack(turn)
	n.remove(key)
	return key
}

// remove removes a key. It reports whether the key was there.
func (n *namespaces) remove(key string) bool {
	at, ok := n.byKey[key]
	if !ok {
		return false
	}
	delete(n.byKey, key)
	turn := n.byName[namespaceOf(key)]
	keys := turn.Value.(*namespace).keys
	if keys.Remove(at); keys.Len() == 0 {
		n.turns.Remove(turn)
		delete(n.byName, namespaceOf(key))
	}
	return true
}

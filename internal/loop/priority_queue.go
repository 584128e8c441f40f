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

// lowEvery is the share of keys with low priority: while keys of both priorities
// wait, one in lowEvery of those that get a worker has low priority. So no key
// waits for ever, however many keys of the other priority are added.
const lowEvery = 3

// priorityQueue orders the waiting keys. Keys with high priority go first, apart
// from the share of those with low priority. Among keys of one priority,
// namespaces take turns, so that no tenant waits for all keys of another one.
// Keys of one namespace are first in, first out. The workqueue calls the methods
// with its own lock held.
type priorityQueue struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// raised has the keys with high priority, from the request until a worker
	// takes them. They can be here while they wait for a delay or for the end of
	// a pass; guarded by mu
	raised    map[string]bool
	since     map[string]time.Time // when a waiting key was queued; guarded by mu
	high, low namespaces           // guarded by mu
	// passedOver is how many keys with high priority in a row have got a worker
	// while a key with low priority waited; guarded by mu
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

// Push is part of workqueue.Queue.
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

// Touch is part of workqueue.Queue. It is called when a waiting key is added again.
func (q *priorityQueue) Touch(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.raised[key] && q.low.remove(key) {
		q.high.push(key)
	}
}

// Len is part of workqueue.Queue.
func (q *priorityQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.since)
}

// Pop is part of workqueue.Queue.
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

// turn returns the keys of the priority that comes next.
func (q *priorityQueue) turn() *namespaces {
	if q.high.isEmpty() || !q.low.isEmpty() && q.passedOver == lowEvery-1 {
		return &q.low
	}
	return &q.high
}

// next returns the key that Pop would return. It reports whether a key waits.
func (q *priorityQueue) next() (key string, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.turn().first()
}

// waiting returns the keys that have waited longer than the limit. Those that
// have waited longest come first.
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

// namespaces are the waiting keys of one priority by namespace. To add and to take
// a key takes the same time, however many there are.
type namespaces struct {
	turns  *list.List               // of *namespace, in the order of their next turn; none is empty
	byName map[string]*list.Element // of turns
	byKey  map[string]*list.Element // of the keys of its namespace
}

type namespace struct {
	name string     // empty for keys without a namespace
	keys *list.List // of string
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

// first returns the key that pop would take. It reports whether there is one.
func (n *namespaces) first() (key string, ok bool) {
	turn := n.turns.Front()
	if turn == nil {
		return "", false
	}
	return turn.Value.(*namespace).keys.Front().Value.(string), true
}

// pop takes the first key of the namespace whose turn it is. After that, the
// namespace is the last in turn.
func (n *namespaces) pop() string {
	key, _ := n.first()
	n.turns.MoveToBack(n.turns.Front())
	n.remove(key)
	return key
}

// remove takes out a key and reports whether it was there.
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

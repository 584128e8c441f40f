package cloud

import "slices"

// priority is the order in which calls get the cloud's request quota.
type priority int

const (
	refreshPriority priority = iota // for a Node that nobody waits for, and for the list of instances
	lowPriority                     // for a volume, or a node that has waited long without success
	updatePriority                  // for an update of a load balancer's nodes, or for a silent node
	highPriority                    // for an object that waits for the answer
	priorities                      // the number of priorities
)

// shares are the parts of the quota that priorities get while calls of all of them
// wait. What one priority does not need, the others get. No priority waits for
// ever (promise S3).
var shares = [priorities]float64{refreshPriority: 1, lowPriority: 4, updatePriority: 16, highPriority: 48}

// turns has the waiting calls, in the order in which they may start. Calls of one
// priority start in the order in which they came. The zero value is ready to use.
type turns struct {
	waiting [priorities][]*turn
	// due is the virtual time of the next turn of each priority. A turn takes
	// 1/share, so a priority with a large share has more turns.
	due [priorities]float64
	now float64 // the virtual time of the last turn
}

// turn is a call that waits.
type turn struct {
	priority priority
	begun    chan struct{} // closed when the call may start
}

func (t *turns) add(p priority) *turn {
	if len(t.waiting[p]) == 0 { // A priority without waiting calls does not save up its share.
		t.due[p] = max(t.due[p], t.now) + 1/shares[p]
	}
	added := &turn{priority: p, begun: make(chan struct{})}
	t.waiting[p] = append(t.waiting[p], added)
	return added
}

// next returns the call that may start next and removes it, nil if none waits.
func (t *turns) next() *turn {
	chosen := priorities
	for p := highPriority; p >= 0; p-- {
		if len(t.waiting[p]) > 0 && (chosen == priorities || t.due[p] < t.due[chosen]) {
			chosen = p
		}
	}
	if chosen == priorities {
		return nil
	}
	first := t.waiting[chosen][0]
	t.waiting[chosen] = t.waiting[chosen][1:]
	t.now = t.due[chosen]
	if len(t.waiting[chosen]) > 0 {
		t.due[chosen] += 1 / shares[chosen]
	}
	return first
}

// remove takes out a call that waits no longer.
func (t *turns) remove(gone *turn) {
	p := gone.priority
	t.waiting[p] = slices.DeleteFunc(t.waiting[p], func(w *turn) bool { return w == gone })
}

func (t *turns) empty() bool {
	for _, waiting := range t.waiting {
		if len(waiting) > 0 {
			return false
		}
	}
	return true
}

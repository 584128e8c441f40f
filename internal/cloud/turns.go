package cloud

import "slices"

// priority decides how soon a call that waits for the cloud's request quota gets
// its turn. A higher number is a higher priority.
type priority int

const (
	refreshPriority priority = iota // for a Node that does not wait, and for the list of instances
	lowPriority                     // for a volume, or a node that has waited long without success
	updatePriority                  // for an update of a load balancer's nodes, or for a silent node
	highPriority                    // for an object that waits for the answer
	priorities                      // the number of priorities
)

// shares are the relative shares of the quota for each priority while calls of all
// priorities wait. If one priority does not need its share, the others get it. So the
// calls of each priority get turns (promise S3).
var shares = [priorities]float64{refreshPriority: 1, lowPriority: 4, updatePriority: 16, highPriority: 48}

// turns has the waiting calls, and decides which one starts next. Calls of the
// same priority start in the order of their arrival. The zero value is ready to
// use.
type turns struct {
	waiting [priorities][]*turn
	// due is the virtual time of the next turn of each priority. Each turn costs
	// 1/share, so a priority with a large share gets more turns.
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

// next removes the call that may start next and returns it. It returns nil if no
// call waits.
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

// remove removes a call that no longer waits.
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

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

// turns has the waiting calls of a class, and decides which one starts next. Calls of
// the same priority start in the order of their arrival, but those that are made again
// come first. The zero value is ready to use.
type turns struct {
	waiting [priorities][]*turn
	// due is the virtual time of the next turn of each priority. Each turn costs
	// 1/share, so a priority with a large share gets more turns.
	due [priorities]float64
	now float64 // the virtual time of the last turn
}

// turn is a call that waits.
type turn struct {
	call

	isNew bool          // no call for its object has failed or was held back
	begun chan struct{} // closed when the call may start, or when err says that it must not
	err   error         // written before begun is closed
}

func (t *turns) add(added *turn) {
	p := added.priority
	if len(t.waiting[p]) == 0 { // A priority without waiting calls does not save up its share.
		t.due[p] = max(t.due[p], t.now) + 1/shares[p]
	}
	if added.again { // Its outcome shows whether slower calls help.
		t.waiting[p] = slices.Insert(t.waiting[p], 0, added)
		return
	}
	t.waiting[p] = append(t.waiting[p], added)
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

// newest removes the newest call for an object that is new and returns it, or else the
// same as next.
func (t *turns) newest() *turn {
	for p := highPriority; p >= 0; p-- {
		for n, w := range slices.Backward(t.waiting[p]) {
			if w.isNew {
				t.waiting[p] = slices.Delete(t.waiting[p], n, n+1)
				return w
			}
		}
	}
	return t.next()
}

// beyond removes all calls but n, and returns them. It keeps the newest ones.
func (t *turns) beyond(n int) []*turn {
	var removed []*turn
	for p := highPriority; p >= 0; p-- {
		drop := max(len(t.waiting[p])-n, 0)
		removed = append(removed, t.waiting[p][:drop]...)
		t.waiting[p] = t.waiting[p][drop:]
		n -= len(t.waiting[p])
	}
	return removed
}

// remove removes a call that no longer waits.
func (t *turns) remove(gone *turn) {
	p := gone.priority
	t.waiting[p] = slices.DeleteFunc(t.waiting[p], func(w *turn) bool { return w == gone })
}

// count returns the number of waiting calls whose priority is at least p.
func (t *turns) count(p priority) int {
	n := 0
	for ; p < priorities; p++ {
		n += len(t.waiting[p])
	}
	return n
}

package view

import "sync"

// watchers are woken when something may have changed. The zero value has no
// watchers.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool // guarded by mu
}

// join returns a channel that gets a value whenever something may have changed. The
// function leave ends this.
func (w *watchers) join() (woken <-chan struct{}, leave func()) {
	bell := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[chan struct{}]bool{}
	}
	w.all[bell] = true
	return bell, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, bell)
	}
}

// wake wakes all watchers. It does not block.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for bell := range w.all {
		select {
		case bell <- struct{}{}:
		default: // a wake is already pending
		}
	}
}

func (w *watchers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

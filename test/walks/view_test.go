package walks_test

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// view is a watch of the daemon. While the API server is late, it holds the events back.
// Afterwards it has only the last event of each object, as a watch has that begins again.
type view struct {
	watch.Interface

	events chan watch.Event
	ended  chan struct{}
	end    func()
}

// ResultChan implements watch.Interface.
func (v view) ResultChan() <-chan watch.Event { return v.events }

// Stop implements watch.Interface.
func (v view) Stop() {
	v.end()
	v.Interface.Stop()
}

// watch answers a request for a watch.
func (w *world) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	opts := action.(clienttesting.WatchActionImpl).ListOptions
	all, err := w.cluster.Tracker().Watch(action.GetResource(), action.GetNamespace(), opts)
	if err != nil {
		return true, nil, err
	}
	v := view{Interface: all, events: make(chan watch.Event), ended: make(chan struct{})}
	v.end = sync.OnceFunc(func() { close(v.ended) })
	go w.follow(v)
	return true, v, nil
}

// follow passes the events of a watch on until the watch ends.
func (w *world) follow(v view) {
	defer close(v.events)
	held := map[string]watch.Event{}
	for {
		var punctual chan struct{}
		if len(held) > 0 {
			w.locked(func() { punctual = w.punctual })
		}
		select {
		case e, ok := <-v.Interface.ResultChan():
			if !ok {
				return
			}
			held[keyOf(e)] = e
		case <-punctual:
			for _, key := range slices.Sorted(maps.Keys(held)) {
				select {
				case v.events <- held[key]:
				case <-v.ended:
					return
				}
			}
			clear(held)
		case <-v.ended:
			return
		}
	}
}

func keyOf(e watch.Event) string {
	object, err := meta.Accessor(e.Object)
	if err != nil {
		return "" // There are only Nodes and Services.
	}
	return object.GetName()
}

// becomesLate makes the watches of the daemon hold all events back. The caller holds mu.
func (w *world) becomesLate() {
	if w.isPunctual() {
		w.happen("API server: its watches are late")
		w.punctual = make(chan struct{})
	}
}

// becomesPunctual makes the watches report what they hold. The caller holds mu.
func (w *world) becomesPunctual() {
	if !w.isPunctual() {
		w.happen("API server: its watches are punctual again")
		w.punctualSince = time.Now()
		close(w.punctual)
	}
}

func (w *world) isPunctual() bool {
	select {
	case <-w.punctual:
		return true
	default:
		return false
	}
}

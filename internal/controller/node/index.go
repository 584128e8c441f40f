package node

import (
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// index has the names of the Nodes that the refresh asks about, in order. Each change
// of a Node updates it. So the refresh finds its next names without going through all
// Nodes.
type index struct {
	mu        sync.Mutex
	refreshed *btree.BTree[string] // names; guarded by mu
}

func newIndex() *index {
	const degree = 32
	return &index{refreshed: btree.NewOrdered[string](degree)}
}

// set takes note of a Node. The refresh asks about it if refreshed is true.
func (i *index) set(name string, refreshed bool) { //nolint:revive // flag-parameter: a fact about the Node, not a mode
	i.mu.Lock()
	defer i.mu.Unlock()
	if refreshed {
		i.refreshed.ReplaceOrInsert(name)
	} else {
		i.refreshed.Delete(name)
	}
}

// refreshes returns how many Nodes the refresh asks about.
func (i *index) refreshes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.refreshed.Len()
}

// page returns the next names in alphabetical order: those after last. If there are
// none, it returns the first ones. It reports whether there are more after them.
func (i *index) page(last string, size int) (names []string, more bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	add := func(name string) bool {
		more = len(names) == size
		if name != last && !more {
			names = append(names, name)
		}
		return !more
	}
	if i.refreshed.AscendGreaterOrEqual(last, add); len(names) == 0 {
		last = ""
		i.refreshed.Ascend(add)
	}
	return names, more
}

// all returns all names in alphabetical order.
func (i *index) all() []string {
	names, _ := i.page("", i.refreshes())
	return names
}

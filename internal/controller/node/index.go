package node

import (
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// index has the names of the Nodes that the refresh asks about, in alphabetical order.
// Each change of a Node updates the index. So the refresh finds the next names without
// going through all Nodes.
type index struct {
	mu        sync.Mutex
	refreshed *btree.BTree[string] // names; guarded by mu
}

func newIndex() *index {
	const degree = 32
	return &index{refreshed: btree.NewOrdered[string](degree)}
}

// set adds a Node to the index if refreshed is true, and removes it otherwise.
func (i *index) set(name string, refreshed bool) { //nolint:revive // flag-parameter: a fact about the Node, not a mode
	i.mu.Lock()
	defer i.mu.Unlock()
	if refreshed {
		i.refreshed.ReplaceOrInsert(name)
	} else {
		i.refreshed.Delete(name)
	}
}

// refreshes returns the number of Nodes that the refresh asks about.
func (i *index) refreshes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.refreshed.Len()
}

// page returns the next names in alphabetical order, at most as many as the second
// parameter says. The first of them comes after the name in the first parameter. If no
// name comes after it, page begins with the first of all names. It also reports whether
// more names follow.
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

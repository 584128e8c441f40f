package node

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// byProviderID is the name of the informer's index.
const byProviderID = "byProviderID"

// indexProviderIDs makes the informer index Nodes by their provider IDs.
func indexProviderIDs(informer cache.SharedIndexInformer) error {
	if _, exists := informer.GetIndexer().GetIndexers()[byProviderID]; exists {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{byProviderID: func(obj any) ([]string, error) {
		if id := obj.(*corev1.Node).Spec.ProviderID; id != "" {
			return []string{id}, nil
		}
		return nil, nil
	}})
}

// withProviderID returns the Nodes that have the provider ID. Nobody may change
// them.
func (c *Controller) withProviderID(id string) (nodes []*corev1.Node) {
	found, err := c.informer.GetIndexer().ByIndex(byProviderID, id)
	if err != nil { // The only error is a missing index, and Run has added it.
		return nil
	}
	for _, obj := range found {
		nodes = append(nodes, obj.(*corev1.Node))
	}
	return nodes
}

// index has the names of the Nodes that the refresh asks about, in order. It changes
// with each Node, so that no page of the refresh goes through all of them.
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

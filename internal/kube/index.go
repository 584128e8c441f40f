package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// byProviderID is the name of the index of Nodes.
const byProviderID = "byProviderID"

// IndexProviderIDs makes the informer index Nodes by their provider IDs. Several
// controllers may call it for the same informer.
func IndexProviderIDs(informer cache.SharedIndexInformer) error {
	return addIndex(informer, byProviderID, func(obj any) ([]string, error) {
		if id := obj.(*corev1.Node).Spec.ProviderID; id != "" {
			return []string{id}, nil
		}
		return nil, nil
	})
}

// addIndex adds an index, unless the informer has it.
func addIndex(informer cache.SharedIndexInformer, name string, of cache.IndexFunc) error {
	err := informer.AddIndexers(cache.Indexers{name: of})
	if _, missing := informer.GetIndexer().ByIndex(name, ""); missing == nil {
		return nil // If AddIndexers has failed, another controller has already added the index.
	}
	return err
}

// NodesWithProviderID returns the Nodes that have the provider ID. The caller must
// not change them. The informer must have the index.
func NodesWithProviderID(informer cache.SharedIndexInformer, id string) (nodes []*corev1.Node) {
	found, err := informer.GetIndexer().ByIndex(byProviderID, id)
	if err != nil { // The only error is a missing index.
		return nil
	}
	for _, obj := range found {
		nodes = append(nodes, obj.(*corev1.Node))
	}
	return nodes
}

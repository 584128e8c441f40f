package kube

import (
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// byService is the name of the index of EndpointSlices.
const byService = "byService"

// IndexServices makes the informer index EndpointSlices by their Services.
func IndexServices(informer cache.SharedIndexInformer) error {
	return addIndex(informer, byService, func(obj any) ([]string, error) {
		return []string{ServiceOf(obj.(*discoveryv1.EndpointSlice))}, nil
	})
}

// ServiceOf returns the key of the Service of an EndpointSlice.
func ServiceOf(slice *discoveryv1.EndpointSlice) string {
	return slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
}

// EndpointsOf returns the names of the Nodes with endpoints of a Service, and whether one of
// these endpoints is ready. The informer must have the index.
func EndpointsOf(informer cache.SharedIndexInformer, service string) map[string]bool {
	all := map[string]bool{}
	found, err := informer.GetIndexer().ByIndex(byService, service)
	if err != nil { // The only error is a missing index.
		return nil
	}
	for _, obj := range found {
		for node, ready := range EndpointsIn(obj.(*discoveryv1.EndpointSlice)) {
			all[node] = all[node] || ready
		}
	}
	return all
}

// EndpointsIn does the same as EndpointsOf for one slice, which may be nil. The API requires
// that unknown means ready.
func EndpointsIn(slice *discoveryv1.EndpointSlice) map[string]bool {
	nodes := map[string]bool{}
	if slice == nil {
		return nodes
	}
	for _, e := range slice.Endpoints {
		if e.NodeName != nil {
			nodes[*e.NodeName] = nodes[*e.NodeName] || ptr.Deref(e.Conditions.Ready, true)
		}
	}
	return nodes
}

// trimSlice returns what rules read of an EndpointSlice: its Service, and one endpoint for each
// Node.
func trimSlice(whole *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
		Labels: map[string]string{discoveryv1.LabelServiceName: whole.Labels[discoveryv1.LabelServiceName]},
	}}
	nodes := EndpointsIn(whole)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{NodeName: &name, Conditions: discoveryv1.EndpointConditions{Ready: new(nodes[name])}})
	}
	return slice
}

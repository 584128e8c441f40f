package nodeport

import (
	"errors"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// watch observes the cluster.
type watch struct {
	cluster Cluster
	factory informers.SharedInformerFactory
	changed chan struct{} // gets an element when something has changed

	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

// newWatch returns a watch that begins when its factory is started.
func newWatch(cluster Cluster) (*watch, error) {
	w := &watch{
		cluster: cluster,
		factory: informers.NewSharedInformerFactory(cluster.Client(), 0),
		changed: make(chan struct{}, 1),
	}
	nodes, services := w.factory.Core().V1().Nodes(), w.factory.Core().V1().Services()
	slices := w.factory.Discovery().V1().EndpointSlices()
	w.nodes, w.services, w.slices = nodes.Lister(), services.Lister(), slices.Lister()
	for _, informer := range []cache.SharedIndexInformer{nodes.Informer(), services.Informer(), slices.Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.wake() },
			UpdateFunc: func(any, any) { w.wake() },
			DeleteFunc: func(any) { w.wake() },
		}); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *watch) wake() {
	select {
	case w.changed <- struct{}{}:
	default: // a wake is already pending
	}
}

func (w *watch) observe() (seen, error) {
	everything := labels.Everything()
	nodes, nodesErr := w.nodes.List(everything)
	services, servicesErr := w.services.List(everything)
	slices, slicesErr := w.slices.List(everything)
	return seen{
		running: w.cluster.RunningNodes(), nodes: nodes, services: services, slices: slices,
	}, errors.Join(nodesErr, servicesErr, slicesErr)
}

package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// NewInformerFactory returns the informers of our own controllers. Before an
// informer caches an object, it drops fields that no rule reads. These are the
// managed fields, images and volumes of Nodes, the managed fields of
// PersistentVolumes, the fields of Services that TrimService drops, and most of
// EndpointSlices. A provider must not get this factory, because it might need these fields.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration, served Served) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTweakListOptions(NotOlder), informers.WithTransform(trim(served)))
}

// NotOlder makes the first list of an informer at least as new as its request (decision
// 28). By default the informer accepts any version, so behind an API server whose watch
// cache lags, load balancers would lose the Nodes that are missing there. Later lists and
// watches never go back, and a list that is streamed is always new.
func NotOlder(o *metav1.ListOptions) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion, o.Limit = "", 0 // Without a limit, the API server answers from its cache once that is new.
	}
}

// trim returns a function that drops the fields of a Node, Service, PersistentVolume or
// EndpointSlice that no rule reads. The function returns objects of other kinds unchanged. A second
// trim changes nothing.
func trim(served Served) cache.TransformFunc {
	return func(obj any) (any, error) {
		switch whole := obj.(type) {
		case *corev1.Node:
			return trimNode(whole), nil
		case *corev1.Service:
			return TrimService(whole, served), nil
		case *corev1.PersistentVolume:
			volume := *whole
			volume.ManagedFields = nil
			return &volume, nil
		case *discoveryv1.EndpointSlice:
			return trimSlice(whole), nil
		default:
			return obj, nil
		}
	}
}

func trimNode(whole *corev1.Node) *corev1.Node {
	node := *whole
	node.ManagedFields = nil
	node.Status.Images = nil
	node.Status.VolumesInUse = nil
	node.Status.VolumesAttached = nil
	return &node
}

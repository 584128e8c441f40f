package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	return informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trim(served)))
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

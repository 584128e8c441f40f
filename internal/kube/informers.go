package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// NewInformerFactory returns the informers of our own controllers. They drop the
// managed fields, images and volumes of Nodes before a Node is cached, because no
// rule reads them. A provider must not get this factory, because it may read
// these fields.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trim))
}

// trim drops the fields of a Node that no rule reads. It returns objects of other
// kinds unchanged.
func trim(obj any) (any, error) {
	whole, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node := *whole
	node.ManagedFields = nil
	node.Status.Images = nil
	node.Status.VolumesInUse = nil
	node.Status.VolumesAttached = nil
	return &node, nil
}

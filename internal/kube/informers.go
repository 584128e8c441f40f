package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// NewInformerFactory returns the informers of our own controllers. They keep
// only what rules read: managed fields of everything, and the images and
// volumes of Nodes, are dropped before an object is cached. It must not be
// handed to a provider, which may need what is dropped.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trim))
}

// trim drops what no rule reads. It gets the informer's own copy, so it may
// change it; an object of another shape passes as it is.
func trim(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	if node, ok := obj.(*corev1.Node); ok {
		node.Status.Images = nil
		node.Status.VolumesInUse = nil
		node.Status.VolumesAttached = nil
	}
	return obj, nil
}

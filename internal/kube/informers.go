package kube

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// loadBalancerFinalizer is the finalizer of the service controller. A test of that
// controller checks that the two constants are equal.
const loadBalancerFinalizer = "service.kubernetes.io/load-balancer-cleanup"

// These are two fields of a Service. The informer keeps their managers, because the
// service controller names them in events.
const (
	fieldFinalizers   = "f:finalizers"
	fieldLoadBalancer = "f:loadBalancer"
)

// NewInformerFactory returns the informers of our own controllers. Before an
// informer caches an object, it drops fields that no rule reads. These are the
// managed fields, images and volumes of Nodes, the managed fields of
// PersistentVolumes, and the fields of Services that TrimService drops. A provider
// must not get this factory, because it might need these fields.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trim))
}

// trim drops the fields of a Node, Service or PersistentVolume that no rule reads. It returns
// objects of other kinds unchanged. A second trim changes nothing.
func trim(obj any) (any, error) {
	switch whole := obj.(type) {
	case *corev1.Node:
		return trimNode(whole), nil
	case *corev1.Service:
		return TrimService(whole), nil
	case *corev1.PersistentVolume:
		volume := *whole
		volume.ManagedFields = nil
		return &volume, nil
	default:
		return obj, nil
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

// TrimService returns the Service in the form in which the informer keeps it.
// Everybody with the right to create Services decides how large they are. So a Service
// without a load balancer is kept without labels, annotations, finalizers and ports. A
// Service of type LoadBalancer, or with the controller's finalizer, goes to the
// provider. It loses only managed fields that no rule reads. Its annotation
// last-applied-configuration stays, because a provider that writes the Service back
// would otherwise delete the annotation.
func TrimService(whole *corev1.Service) *corev1.Service {
	if whole.Spec.Type == corev1.ServiceTypeLoadBalancer || slices.Contains(whole.Finalizers, loadBalancerFinalizer) {
		service := *whole
		service.ManagedFields = ownersOf(whole)
		return &service
	}
	trimmed := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
			DeletionTimestamp: whole.DeletionTimestamp,
		},
		Spec:   corev1.ServiceSpec{Type: whole.Spec.Type, LoadBalancerClass: whole.Spec.LoadBalancerClass},
		Status: whole.Status, // The right to create Services is not enough to make the status large. That needs the right to write the status.
	}
	if whole.Namespace == metav1.NamespaceDefault && whole.Name == "kubernetes" {
		trimmed.Spec.ClusterIPs = whole.Spec.ClusterIPs // A rule reads these IPs, because no kubelet may get a certificate for the API server's addresses.
	}
	return trimmed
}

// ownersOf returns the managed fields of a Service. For each manager it keeps only
// fieldFinalizers and fieldLoadBalancer.
func ownersOf(service *corev1.Service) (owners []metav1.ManagedFieldsEntry) {
	for _, entry := range service.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		read := object{}
		for _, field := range []string{fieldFinalizers, fieldLoadBalancer} {
			if bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"`+field+`"`)) {
				read[field] = object{}
			}
		}
		if len(read) == 0 {
			continue
		}
		data, _ := json.Marshal(read) // A map of strings always encodes.
		var fields metav1.FieldsV1
		fields.SetRawBytes(data)
		owners = append(owners, metav1.ManagedFieldsEntry{Manager: entry.Manager, FieldsV1: &fields})
	}
	return owners
}

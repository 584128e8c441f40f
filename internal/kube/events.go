package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Recorder records core/v1 Events for one component.
type Recorder struct {
	recorder record.EventRecorderLogger
}

// NewRecorder returns a recorder whose events name the component as their
// source. It sends events until the context ends. Events that are still queued
// at that time are lost.
func NewRecorder(ctx context.Context, client kubernetes.Interface, component string) *Recorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &Recorder{recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})}
}

// Node records an event on the Node. The type is corev1.EventTypeNormal or
// corev1.EventTypeWarning.
func (r *Recorder) Node(node *corev1.Node, eventType, reason, message string) {
	// The reference names kind and apiVersion, because objects from an informer
	// have neither. Consumers of upstream's events rely on apiVersion v1.
	r.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, eventType, reason, message)
}

// Service records an event on the Service. The type is corev1.EventTypeNormal or
// corev1.EventTypeWarning.
func (r *Recorder) Service(service *corev1.Service, eventType, reason, message string) {
	r.recorder.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID, ResourceVersion: service.ResourceVersion,
	}, eventType, reason, message)
}

// PersistentVolume records an event on the volume. The type is
// corev1.EventTypeNormal or corev1.EventTypeWarning.
func (r *Recorder) PersistentVolume(volume *corev1.PersistentVolume, eventType, reason, message string) {
	r.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolume", Name: volume.Name, UID: volume.UID}, eventType, reason, message)
}

// Lease records an event on the Lease of this process. It is for events that do
// not belong to another object.
func (r *Recorder) Lease(lease types.NamespacedName, eventType, reason, message string) {
	r.recorder.Event(&corev1.ObjectReference{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: lease.Namespace, Name: lease.Name,
	}, eventType, reason, message)
}

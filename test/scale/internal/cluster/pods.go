package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// app is the name of the StatefulSet, of its only label, container and claim.
const app = "data"

// Store creates a StatefulSet, and a volume for each of its Pods.
func (p *Plane) Store(ctx context.Context, pods int) error {
	capacity := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	err := Each(pods, func(n int) error {
		name := fmt.Sprintf("volume-%05d", n)
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: capacity, AccessModes: modes,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "bench", VolumeHandle: name}},
		}}
		_, err := p.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	labels := map[string]string{"app": app}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(pods)), PodManagementPolicy: appsv1.ParallelPodManagement, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: app, Image: "example.com/data", VolumeMounts: []corev1.VolumeMount{{Name: app, MountPath: "/data"}}}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
			}},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(""), Resources: corev1.VolumeResourceRequirements{Requests: capacity},
		}}},
	}}
	_, err = p.Client.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	return err
}

// Pods returns the Pods of the StatefulSet.
func (p *Plane) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := p.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// AttachVolumes attaches all volumes that have to be attached, as the part of a CSI driver
// does that follows VolumeAttachments.
func (p *Plane) AttachVolumes(ctx context.Context) error {
	attachments := p.Client.StorageV1().VolumeAttachments()
	list, err := attachments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, a := range list.Items {
		if a.Status.Attached {
			continue
		}
		_, err := attachments.Patch(ctx, a.Name, types.MergePatchType, []byte(`{"status":{"attached":true}}`), metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

package cloud

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The functions of this file return the names of a call's object, and other
// words that its owner has chosen. The first word names the object.

func namesOfNode(node *corev1.Node) []string {
	return []string{node.Name, node.Spec.ProviderID}
}

// regionOf returns the region in the node's label, empty if it has none yet. The cloud
// names it, but a kubelet can choose another one.
func regionOf(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyRegion] }

func namesOfService(service *corev1.Service) []string {
	names := []string{key(service), service.Name, service.Namespace}
	for _, chosen := range []map[string]string{service.Annotations, service.Labels} {
		for name, value := range chosen {
			names = append(names, name, value)
		}
	}
	slices.Sort(names[1:])
	return names
}

func namesOfVolume(volume *corev1.PersistentVolume) []string {
	names := []string{volume.Name}
	switch spec := volume.Spec.PersistentVolumeSource; {
	case spec.CSI != nil:
		names = append(names, spec.CSI.VolumeHandle)
	case spec.AWSElasticBlockStore != nil:
		names = append(names, spec.AWSElasticBlockStore.VolumeID)
	case spec.GCEPersistentDisk != nil:
		names = append(names, spec.GCEPersistentDisk.PDName)
	case spec.AzureDisk != nil:
		names = append(names, spec.AzureDisk.DiskName, spec.AzureDisk.DataDiskURI)
	case spec.VsphereVolume != nil:
		names = append(names, spec.VsphereVolume.VolumePath)
	case spec.Cinder != nil:
		names = append(names, spec.Cinder.VolumeID)
	}
	return names
}

func namesOfRoute(route Route) []string {
	return []string{route.CIDR, route.Node, route.Name}
}

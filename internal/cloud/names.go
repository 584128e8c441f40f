package cloud

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Each function whose name begins with namesOf returns the names of a call: the
// name of the object, and then other words that the owner of the object has chosen.

func namesOfNode(node *corev1.Node) []string {
	return []string{node.Name, node.Spec.ProviderID}
}

// regionOf returns the value of the node's region label. It is empty if the node has
// no such label yet. The value comes from the cloud, but a kubelet can change it.
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

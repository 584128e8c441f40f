package kubelet

import (
	"slices"

	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"
	volumefake "k8s.io/kubernetes/pkg/volume/testing"
)

// volumes is the kubelet's plugin for volumes of CSI drivers. No driver has to be there: the
// plugin makes an empty directory for each volume. Before that, the kubelet waits until
// kube-controller-manager has attached the volume.
type volumes struct{ *volumefake.FakeVolumePlugin }

// GetVolumeName returns the name that kube-controller-manager uses for the volume.
func (volumes) GetVolumeName(spec *volume.Spec) (string, error) {
	source := spec.PersistentVolume.Spec.CSI
	return source.Driver + "^" + source.VolumeHandle, nil
}

// withVolumes replaces the plugin for CSI drivers.
func withVolumes(plugins []volume.VolumePlugin) []volume.VolumePlugin {
	plugins = slices.DeleteFunc(plugins, func(p volume.VolumePlugin) bool { return p.GetPluginName() == csi.CSIPluginName })
	return append(plugins, volumes{&volumefake.FakeVolumePlugin{
		PluginName: csi.CSIPluginName,
		CanSupportFn: func(spec *volume.Spec) bool {
			return spec.PersistentVolume != nil && spec.PersistentVolume.Spec.CSI != nil
		},
	}})
}

package simulated

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// VolumeDriver is the value of spec.csi.driver in PersistentVolumes of this cloud.
// The volume handle is the ID of the volume. This driver does not exist: a pod
// with the volume is scheduled, but cannot start.
const VolumeDriver = Name + ".fairlead.dev"

var _ cloudprovider.PVLabeler = (*Cloud)(nil)

// GetLabelsForVolume implements cloudprovider.PVLabeler. It returns nil for volumes
// of other drivers.
func (c *Cloud) GetLabelsForVolume(ctx context.Context, pv *corev1.PersistentVolume) (map[string]string, error) {
	csi := pv.Spec.CSI
	if csi == nil || csi.Driver != VolumeDriver {
		return nil, nil
	}
	if csi.VolumeHandle == "" {
		return nil, kit.Invalidf("spec.csi.volumeHandle: is empty; it should be the ID of the volume, such as vol-00000001")
	}
	found, err := ask(ctx, c, func(ctx context.Context, client *simulator.Client) (simulator.Volume, error) {
		return client.Volume(ctx, csi.VolumeHandle)
	})
	if err != nil {
		return nil, fmt.Errorf("volume %s: %w", csi.VolumeHandle, err)
	}
	return map[string]string{
		corev1.LabelTopologyZone:   strings.Join(found.Zones, "__"),
		corev1.LabelTopologyRegion: found.Region,
	}, nil
}

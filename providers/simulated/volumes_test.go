package simulated

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func disk(driver, handle string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle},
	}}}
}

func TestLabelsOfVolumes(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	for _, v := range []simulator.Volume{{Name: "data"}, {Name: "wide", Zones: []string{"b", "a"}, Region: "north"}} {
		_, err := f.operator.CreateVolume(t.Context(), v)
		diff(t, "error", nil, err)
	}
	for name, row := range map[string]struct {
		volume *corev1.PersistentVolume
		want   map[string]string
		err    string
	}{
		"OneZone":       {disk(VolumeDriver, "vol-00000001"), map[string]string{corev1.LabelTopologyZone: "sim-1a", corev1.LabelTopologyRegion: "sim-1"}, ""},
		"SeveralZones":  {disk(VolumeDriver, "vol-00000002"), map[string]string{corev1.LabelTopologyZone: "a__b", corev1.LabelTopologyRegion: "north"}, ""},
		"AnotherDriver": {disk("csi.example.com", "vol-00000001"), nil, ""},
		"NoCSI":         {&corev1.PersistentVolume{}, nil, ""},
		"NoHandle":      {disk(VolumeDriver, ""), nil, "spec.csi.volumeHandle: is empty; it should be the ID of the volume, such as vol-00000001"},
		"NoSuchVolume":  {disk(VolumeDriver, "vol-00000009"), nil, "volume vol-00000009: the cloud answered 404 NotFound: volume vol-00000009 does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.cloud.GetLabelsForVolume(t.Context(), row.volume)
			if text := errorText(err); text != row.err {
				t.Errorf("error %q, want %q", text, row.err)
			}
			diff(t, "labels", row.want, got)
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package cloud

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// labelingVendor is a vendor that also implements cloudprovider.PVLabeler.
type labelingVendor struct {
	vendor

	says func(ctx context.Context, v *corev1.PersistentVolume) (map[string]string, error)
}

func (v labelingVendor) GetLabelsForVolume(ctx context.Context, pv *corev1.PersistentVolume) (map[string]string, error) {
	return v.says(ctx, pv)
}

func volumesOf(t *testing.T, says func(context.Context, *corev1.PersistentVolume) (map[string]string, error), cfg Config) *Volumes {
	t.Helper()
	return gateway(t, labelingVendor{says: says}, cfg).Volumes()
}

func TestProviderWithoutLabelsOfVolumes(t *testing.T) {
	if gateway(t, vendor{}, Config{}).Volumes() != nil {
		t.Error("a provider that is not a PVLabeler offers labels of volumes")
	}
}

func TestLabelsOfVolumes(t *testing.T) {
	ours := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "u"}}
	kept := map[string]string{"zone": "a"}
	v := volumesOf(t, func(_ context.Context, pv *corev1.PersistentVolume) (map[string]string, error) {
		pv.Name = "changed by the provider"
		return kept, nil
	}, Config{})
	got, err := v.Labels(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	kept["zone"] = "changed by the provider"
	if diff := cmp.Diff(map[string]string{"zone": "a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if ours.Name != "v" {
		t.Error("the provider has changed our volume")
	}
}

func TestLabelsOfVolumesThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		name string
		says func(context.Context, *corev1.PersistentVolume) (map[string]string, error)
		want Kind
	}{
		{"Nil", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) { return nil, nil }, Succeeded},
		{"Error", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, errors.New("no")
		}, Failed},
		{"NotImplemented", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, cloudprovider.NotImplemented
		}, NotImplemented},
		{"Panic", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) { panic("broken") }, Panicked},
		{"NilAfterTheDeadline", func(ctx context.Context, _ *corev1.PersistentVolume) (map[string]string, error) {
			<-ctx.Done()
			return nil, nil
		}, TimedOut},
		{"Hangs", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			time.Sleep(time.Hour)
			return map[string]string{}, nil
		}, Slow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := volumesOf(t, tt.says, Config{ReadTimeout: time.Second})
				got, err := v.Labels(t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "u"}})
				if got != nil || KindOf(err) != tt.want {
					t.Errorf("got %v, %v, want nothing and %s", got, err, tt.want)
				}
				time.Sleep(2 * time.Hour) // By then, the call has returned.
			})
		})
	}
}

func TestNamesOfVolumes(t *testing.T) {
	for _, tt := range []struct {
		source corev1.PersistentVolumeSource
		want   []string
	}{
		{corev1.PersistentVolumeSource{}, []string{"v"}},
		{corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{VolumeHandle: "h"}}, []string{"v", "h"}},
		{corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "h"}}, []string{"v", "h"}},
		{corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "h"}}, []string{"v", "h"}},
		{corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "h", DataDiskURI: "u"}}, []string{"v", "h", "u"}},
		{corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "h"}}, []string{"v", "h"}},
		{corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "h"}}, []string{"v", "h"}},
	} {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tt.source}}
		if diff := cmp.Diff(tt.want, namesOfVolume(v)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

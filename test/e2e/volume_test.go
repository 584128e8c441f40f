package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// labelsVolumes is the flag that switches on the controller that labels volumes.
const labelsVolumes = "--controllers=*,persistent-volume-label-controller"

// Volumes that were made while no daemon ran get labels and node affinity. A pod
// with one of these volumes is scheduled to the volume's zone. If the cloud does not
// know a volume, an event says so. Volumes of other drivers stay as they are (S4 f).
func TestVolumesGetTheirZone(t *testing.T) {
	b := onShared(t)
	b.UseRightsOf(t, volumeLabels)
	kubelets := b.Kubelets(t, simulator.Instance{Name: b.Name("in-a"), Zone: "sim-1a"}, simulator.Instance{Name: b.Name("in-b"), Zone: "sim-1b"})
	one := newVolume(t, b, b.Cloud, simulator.Volume{Name: b.Name("one"), Zones: []string{"sim-1b"}})
	wide := newVolume(t, b, b.Cloud, simulator.Volume{Name: b.Name("wide"), Zones: []string{"sim-1a", "sim-1c"}})
	unknown := newPV(t, b, b.Name("unknown"), simulated.VolumeDriver, "vol-99999999")
	theirs := newPV(t, b, b.Name("theirs"), "csi.example.com", "x")

	d := b.Daemon(t, daemon.Setup{Flags: []string{labelsVolumes}})
	for _, i := range kubelets {
		b.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
	}
	for name, zones := range map[string]string{one: "sim-1b", wide: "sim-1a__sim-1c"} {
		expect.Within(t, expect.Soon, func(ctx context.Context) error { return placed(ctx, b, name, zones) })
	}
	for volume, node := range map[string]string{one: kubelets[1].Name, wide: kubelets[0].Name} {
		landsOn(t, b, volume, node)
	}

	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		events, err := b.Admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + unknown})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "VolumeTopologyUnknown" && e.InvolvedObject.Kind == "PersistentVolume" && strings.Contains(e.Message, "volume vol-99999999 does not exist")
		}) {
			return fmt.Errorf("volume %s has the events %+v", unknown, events.Items)
		}
		return nil
	})
	for _, name := range []string{unknown, theirs} {
		pv, err := b.Admin.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(pv.Labels) > 0 || pv.Spec.NodeAffinity != nil {
			t.Errorf("volume %s has the labels %v and the node affinity %v", name, pv.Labels, pv.Spec.NodeAffinity)
		}
	}
	if d.Logged("Labelled a volume", theirs) {
		t.Errorf("the daemon has written %s", theirs)
	}
}

// newVolume creates a volume of the cloud and a PersistentVolume for it. It returns
// the name of the PersistentVolume.
func newVolume(t *testing.T, b *bed.Bed, c *bed.Cloud, v simulator.Volume) string {
	t.Helper()
	created, err := c.CreateVolume(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return c.DeleteVolume(ctx, created.ID) })
	return newPV(t, b, created.Name, simulated.VolumeDriver, created.ID)
}

func newPV(t *testing.T, b *bed.Bed, name, driver, handle string) string {
	t.Helper()
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}},
		},
	}
	volumes := b.Admin.CoreV1().PersistentVolumes()
	if _, err := volumes.Create(t.Context(), pv, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return volumes.Delete(ctx, name, metav1.DeleteOptions{}) })
	return name
}

// placed returns an error unless the volume has labels with these zones, and a node
// affinity that agrees.
func placed(ctx context.Context, b *bed.Bed, name, zones string) error {
	pv, err := b.Admin.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if pv.Spec.NodeAffinity == nil {
		return fmt.Errorf("volume %s has no node affinity, and the labels %v", name, pv.Labels)
	}
	in := corev1.NodeSelectorOpIn
	return errors.Join(
		expect.Equal("labels", map[string]string{corev1.LabelTopologyZone: zones, corev1.LabelTopologyRegion: "sim-1"}, pv.Labels),
		expect.Equal("node affinity", []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyRegion, Operator: in, Values: []string{"sim-1"}},
			{Key: corev1.LabelTopologyZone, Operator: in, Values: strings.Split(zones, "__")},
		}}}, pv.Spec.NodeAffinity.Required.NodeSelectorTerms),
	)
}

// landsOn creates a pod with the volume and waits until it is scheduled to the node.
func landsOn(t *testing.T, b *bed.Bed, volume, node string) {
	t.Helper()
	none := ""
	claims, pods := b.Admin.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault), b.Admin.CoreV1().Pods(metav1.NamespaceDefault)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: volume, StorageClassName: &none, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume},
			}}},
		},
	}
	if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return claims.Delete(ctx, volume, metav1.DeleteOptions{}) })
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // The namespace's service account may not exist yet.
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // An earlier attempt has created the pod, and has got no answer.
		}
		return err
	})
	expect.Cleanup(t, func(ctx context.Context) error {
		if err := pods.Delete(ctx, volume, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	expect.Within(t, 2*expect.Soon, func(ctx context.Context) error {
		now, err := pods.Get(ctx, volume, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case now.Spec.NodeName == "":
			return fmt.Errorf("pod %s is not scheduled: %+v", volume, now.Status.Conditions)
		case now.Spec.NodeName != node:
			t.Fatalf("pod %s was scheduled to %s, want %s", volume, now.Spec.NodeName, node)
		}
		return nil
	})
}

package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Volumes reads and patches PersistentVolumes.
type Volumes struct {
	client typedcorev1.PersistentVolumeInterface
	newest cache.MutationCache
}

// NewVolumes returns a Volumes that reads from informer and writes with client.
func NewVolumes(ctx context.Context, client kubernetes.Interface, informer informersv1.PersistentVolumeInformer) *Volumes {
	return &Volumes{client: client.CoreV1().PersistentVolumes(), newest: newest(ctx, informer.Informer().GetStore())}
}

// Cached returns the volume from the informer. If our own last write has not reached
// the informer yet, Cached returns the result of that write. The caller must not change
// the volume. If the volume does not exist, Cached returns an error that
// apierrors.IsNotFound recognises.
func (v *Volumes) Cached(name string) (*corev1.PersistentVolume, error) {
	obj, exists, err := v.newest.GetByKey(name)
	if err != nil {
		return nil, fmt.Errorf("persistent volume %s in the cache: %w", name, err)
	}
	if !exists {
		return nil, apierrors.NewNotFound(corev1.Resource("persistentvolumes"), name)
	}
	return obj.(*corev1.PersistentVolume), nil
}

// VolumePatch is a change of a PersistentVolume.
type VolumePatch struct {
	// Volume is the volume for which the decision was made. The API server refuses the
	// patch if another volume now has this name, or if one of the fields to change no
	// longer has the value that it has in this volume.
	Volume *corev1.PersistentVolume
	// Labels are those to set. A nil value removes the label.
	Labels map[string]*string
	// NodeAffinity, if not nil, is the affinity to set. The volume must have none.
	NodeAffinity *corev1.VolumeNodeAffinity
}

// Patch makes all changes of the patch, or none. IsStale reports whether an error
// means that the volume has changed since the decision.
func (v *Volumes) Patch(ctx context.Context, p VolumePatch) error {
	data, err := json.Marshal(p.operations())
	if err != nil {
		return fmt.Errorf("encode patch of persistent volume %s: %w", p.Volume.Name, err)
	}
	var volume *corev1.PersistentVolume
	err = write(ctx, "patch persistent volume "+p.Volume.Name, func(ctx context.Context) error {
		var err error
		volume, err = v.client.Patch(ctx, p.Volume.Name, types.JSONPatchType, data, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return err
	}
	v.newest.Mutation(volume)
	return nil
}

// operations returns the operations of the patch. The tests of the UID and of the
// fields to change come first, and then the changes.
func (p VolumePatch) operations() []operation {
	tests := []operation{{Op: "test", Path: "/metadata/uid", Value: p.Volume.UID}}
	t, changes := ofMap("/metadata/labels", p.Volume.Labels, p.Labels)
	tests = append(tests, t...)
	if p.NodeAffinity != nil {
		tests = append(tests, operation{Op: "test", Path: "/spec/nodeAffinity", Value: null})
		changes = append(changes, operation{Op: "add", Path: "/spec/nodeAffinity", Value: p.NodeAffinity})
	}
	return append(tests, changes...)
}

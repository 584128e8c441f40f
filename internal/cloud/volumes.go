package cloud

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Volumes asks the provider where PersistentVolumes are.
type Volumes struct {
	gateway   *Gateway
	theirs    cloudprovider.PVLabeler
	questions inflight[map[string]string]
}

// newVolumes returns nil if the provider offers no labels for volumes.
func newVolumes(g *Gateway, theirs cloudprovider.PVLabeler, cfg Config) *Volumes {
	if theirs == nil {
		return nil
	}
	return &Volumes{gateway: g, theirs: theirs, questions: inflight[map[string]string]{callerTimeout: cfg.CallerTimeout}}
}

// Volumes returns the provider's volumes. It returns nil if the provider offers
// no labels for volumes.
func (g *Gateway) Volumes() *Volumes { return g.volumes }

// Labels returns the labels of a volume. The map is nil, and not just empty, if
// the volume does not belong to the provider. The caller may change the map.
func (v *Volumes) Labels(ctx context.Context, volume *corev1.PersistentVolume) (map[string]string, error) {
	c := call{method: "GetLabelsForVolume", priority: lowPriority, names: namesOfVolume(volume)}
	key := string(volume.UID) + " " + volume.Name
	labels, err := v.questions.ask(ctx, c, key, func(ctx context.Context, c call) (map[string]string, error) {
		return read(ctx, v.gateway, c, func(ctx context.Context) (map[string]string, error) {
			labels, err := v.theirs.GetLabelsForVolume(ctx, volume.DeepCopy())
			if err == nil && labels == nil {
				// After the deadline, nil does not count as an answer, because the
				// provider might have given up and dropped the error.
				err = ctx.Err()
			}
			return maps.Clone(labels), err
		})
	})
	return maps.Clone(labels), err
}

package daemon

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/volume"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startVolumes makes the controller that labels volumes. If the provider cannot label
// volumes now, it never can, so it is not asked again.
func startVolumes(ctx context.Context, d deps) (Runner, error) {
	labeler := d.gateway.Volumes()
	if labeler == nil {
		return nil, skip("the provider offers no labels of volumes (PVLabeler)")
	}
	informer := d.informers.Core().V1().PersistentVolumes()
	return watch(volume.New(volume.Deps{
		Volumes:  kube.NewVolumes(ctx, d.client, informer),
		Informer: informer,
		Labeler:  labeler,
		Events:   d.recorder,
	}), d.timeouts.read), nil
}

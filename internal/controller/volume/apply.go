package volume

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries out a plan. It writes the volume first, then records the event, then
// updates the memory. So after a crash, the next process repeats what was lost.
func (c *Controller) apply(ctx context.Context, key string, o observed, p plan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("volume", key)
	if p.do == write {
		var err error
		p, err = c.write(ctx, o, p)
		if kube.IsStale(err) { // The informer reports the change.
			return loop.Result{Retry: true}, nil
		}
		if err != nil {
			return loop.Result{}, err
		}
	}
	switch p.do { //nolint:exhaustive // the caller carries out ask
	case write:
		logger.Info("Labelled a volume", "labels", p.labels, "nodeAffinity", p.affinity != nil, "why", p.why)
	case wait:
		logger.V(2).Info("Volume waits", "why", p.why, "after", p.after)
	default:
		logger.V(4).Info("Left a volume alone", "why", p.why)
	}
	if p.event != nil {
		c.events.PersistentVolume(o.volume, p.event.Type, p.event.Reason, p.event.Message)
	}
	c.remember(key, p.memory)
	return loop.Result{After: p.after}, nil
}

// write patches the volume. If the API server refuses the patch because of its content
// or because a permission is missing, write returns a plan that reports the refusal on
// the volume. A volume that is gone needs nothing.
func (c *Controller) write(ctx context.Context, o observed, p plan) (plan, error) {
	err := c.volumes.Patch(ctx, kube.VolumePatch{Volume: o.volume, Labels: pointers(p.labels), NodeAffinity: p.affinity})
	switch {
	case kube.IsRejected(err):
		return hold(o, o.memory.of(o.volume), unwritten(err)), nil
	case apierrors.IsNotFound(err):
		return plan{do: forget, why: "the volume does not exist any more"}, nil
	case err != nil:
		return p, err
	}
	return p, nil
}

func pointers(labels map[string]string) map[string]*string {
	all := map[string]*string{}
	for key, value := range labels {
		all[key] = &value
	}
	return all
}

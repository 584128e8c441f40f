package volume

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// observe gathers the known facts about a volume, without I/O.
func (c *Controller) observe(key string) (observed, error) {
	o := observed{now: c.clock.Now(), memory: c.recall(key)}
	volume, err := c.volumes.Cached(key)
	switch {
	case err == nil:
		o.volume = volume
	case !apierrors.IsNotFound(err):
		return observed{}, err
	}
	return o, nil
}

// ask asks the cloud about a volume. A failure is an answer, too. The next decision
// handles it.
func (c *Controller) ask(ctx context.Context, v *corev1.PersistentVolume) *answer {
	began := c.clock.Now()
	labels, err := c.labeler.Labels(ctx, v)
	a := &answer{uid: v.UID}
	switch kind := cloud.KindOf(err); {
	case kind == cloud.Succeeded && labels == nil, kind == cloud.NotImplemented, kind == cloud.Elsewhere:
		a.given = foreign
	case kind == cloud.Succeeded:
		a.given, a.labels = labelled, labels
	default:
		a.text, a.pause, a.slow = message.Cut(err), cloud.RetryAfter(err), kind == cloud.Slow
	}
	klog.FromContext(ctx).V(4).Info("Asked the cloud about a volume", "volume", v.Name, "took", c.clock.Since(began).Round(time.Millisecond), "labels", labels, "err", err)
	return a
}

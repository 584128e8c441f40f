// Package frame has what all controllers need around their rules: they watch objects,
// have a queue, and can be asked for their plans instead of making passes.
package frame

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Queue is the queue of a controller whose keys are the objects of one informer.
// Controllers embed it.
type Queue struct {
	Loop     *loop.Loop
	Informer cache.SharedIndexInformer
}

// Keys returns the keys of all objects.
func (q Queue) Keys() []string { return q.Informer.GetStore().ListKeys() }

// Shadow calls the function look when a pass is due, and makes no passes. Follow must be
// called first, and Run must not be called.
func (q Queue) Shadow(ctx context.Context, look loop.Reconcile) error { return q.Loop.RunAs(ctx, look) }

// Stuck returns an error that names an object whose pass has lasted longer than the
// limit.
func (q Queue) Stuck(limit time.Duration) error { return q.Loop.Stuck(limit) }

// Watch calls the function changed for each change of an object, until stop is called.
// before is nil for an object that is new, and now is nil for one that is gone. The
// returned function, known, reports whether changed was called for all objects that
// existed at first.
func Watch[T metav1.Object](informer cache.SharedInformer, kind string, changed func(key string, before, now T)) (known cache.InformerSynced, stop func(), err error) {
	var none T
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { changed(key(now), none, now.(T)) },
		UpdateFunc: func(before, now any) { changed(key(now), before.(T), now.(T)) },
		DeleteFunc: func(last any) {
			name := key(last)
			if missed, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = missed.Obj
			}
			before, _ := last.(T) // nil if the informer does not know it
			changed(name, before, none)
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", kind, err)
	}
	return handler.HasSynced, func() { _ = informer.RemoveEventHandler(handler) }, nil // cannot fail: the informer has returned the handler
}

// key returns the key of an object of an informer, which always has one.
func key(obj any) string {
	k, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		panic(err)
	}
	return k
}

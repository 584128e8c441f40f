package volume

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers and health checks.
const Name = mark.VolumeController

const (
	// queue is the name of the queue in metrics.
	queue = "volumes"
	// workers is the number of volumes about which the cloud is asked at the same
	// time.
	workers = 4
	// maxDecisions is the maximum number of decisions in one pass. A pass decides once
	// before it asks the cloud, and once after that. It decides once more each time
	// that another volume has replaced this one.
	maxDecisions = 4
)

// volumes has the requests to the API server that this package makes.
type volumes interface {
	Cached(name string) (*corev1.PersistentVolume, error)
	Patch(ctx context.Context, p kube.VolumePatch) error
}

// labeler has the calls to the cloud that this package makes.
type labeler interface {
	// Labels returns the labels of a volume, or nil if the volume does not belong to
	// the provider.
	Labels(ctx context.Context, volume *corev1.PersistentVolume) (map[string]string, error)
}

type recorder interface {
	PersistentVolume(volume *corev1.PersistentVolume, eventType, reason, message string)
}

// Deps are the controller's dependencies. All except Clock are required.
type Deps struct {
	Volumes  volumes
	Informer informersv1.PersistentVolumeInformer
	Labeler  labeler
	Events   recorder
	// Clock is for tests; nil means the real clock.
	Clock clock.WithTicker
}

// Controller labels volumes with their zone and region.
type Controller struct {
	frame.Queue

	volumes volumes
	labeler labeler
	events  recorder
	clock   clock.WithTicker

	mu       sync.Mutex
	memories map[string]memory // by name; guarded by mu
}

// New returns a controller. The controller does nothing before Run.
func New(deps Deps) *Controller {
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	c := &Controller{
		volumes:  deps.Volumes,
		Queue:    frame.Queue{Informer: deps.Informer.Informer()},
		labeler:  deps.Labeler,
		events:   deps.Events,
		clock:    deps.Clock,
		memories: map[string]memory{},
	}
	c.Loop = loop.New(queue, c.pass, loop.Config{Workers: workers, Clock: deps.Clock})
	return c
}

// Run works until the context ends, and returns when all passes have returned.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	cache.WaitForCacheSync(ctx.Done(), known)
	return c.Loop.Run(ctx)
}

// Follow watches all volumes until stop is called. The returned function, known,
// reports whether the controller has seen all existing volumes. Run calls Follow
// itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	return frame.Watch(c.Informer, "persistent volumes", func(key string, before, now *corev1.PersistentVolume) {
		switch {
		case before == nil && now != nil:
			c.Loop.AddWithPriority(key, loop.Low)
		case now == nil || wakes(before, now):
			c.Loop.Add(key)
		}
	})
}

// pass looks at one volume:
//   - observe the volume, and this process's memory of it
//   - decide
//   - ask the cloud and start again, if the plan asks for it
//   - apply the plan
func (c *Controller) pass(ctx context.Context, key string) (loop.Result, error) {
	o, p, err := c.judge(ctx, key)
	if err != nil {
		return loop.Result{}, err
	}
	return c.apply(ctx, key, o, p)
}

// judge observes and decides. If the decision needs an answer of the cloud, judge
// asks the cloud and decides again.
func (c *Controller) judge(ctx context.Context, key string) (o observed, p plan, err error) {
	var said *answer
	for range maxDecisions {
		if o, err = c.observe(key); err != nil {
			return o, p, err
		}
		o.answer = said
		if p = decide(o); p.do != ask {
			return o, p, nil
		}
		said = c.ask(ctx, o.volume)
		if ctx.Err() != nil {
			return o, p, ctx.Err()
		}
	}
	return o, p, fmt.Errorf("the cloud was asked %d times about volume %s, which was replaced each time", maxDecisions, key)
}

func (c *Controller) recall(key string) memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memories[key]
}

// remember replaces the memory of a volume.
func (c *Controller) remember(key string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.isEmpty() {
		delete(c.memories, key)
		return
	}
	c.memories[key] = m
}

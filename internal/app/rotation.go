package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// outcome is what became of a change of the provider's files. It is a label of
// a metric.
type outcome string

const (
	applied outcome = "applied" // what works now, works with the new content
	refused outcome = "refused" // the provider does not take it, the former stays in use
	restart outcome = "restart" // it is taken by the process that follows this one
)

var errRotated = errors.New("the provider's configuration has changed, and this provider reads it at its start only")

const (
	// tellingTime is for the event to leave before the process ends.
	tellingTime = time.Second
	// refusalLasts is how long what was refused is not tried again: it may have
	// been for a cloud that was away.
	refusalLasts = 5 * time.Minute
)

// rotation follows the provider's files. It is used by one goroutine, but for
// what it tells.
type rotation struct {
	look    func() (string, error)                  // fingerprint of the files
	apply   func(context.Context) (outcome, error)  // makes their content the one in use
	tell    func(eventType, reason, message string) // records an event
	fail    func(error)                             // ends the process
	metrics rotationMetrics
	clock   clock.PassiveClock

	inUse  string    // fingerprint
	seen   string    // at the last look; files that are being written change again
	bad    string    // was refused
	since  time.Time // it was
	broken bool      // could not be read at the last look

	mu    sync.Mutex
	state string // guarded by mu
}

// What the probes say.
const (
	inUseText      = "as in the files"
	refusedText    = "the files have changed and were refused; what was read before is in use"
	unreadableText = "the files cannot be read; what was read before is in use"
)

// text is the note of the probes.
func (r *rotation) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *rotation) say(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	r.metrics.stale.Set(map[bool]float64{true: 1}[state != inUseText])
}

// run looks at the files until ctx ends.
func (r *rotation) run(ctx context.Context, period time.Duration) {
	for pause(ctx, period) {
		r.step(ctx)
	}
}

func (r *rotation) step(ctx context.Context) {
	now, err := r.look()
	settled := now == r.seen
	r.seen = now
	wasBroken := r.broken
	r.broken = err != nil
	switch {
	case err != nil && wasBroken:
	case err != nil:
		klog.FromContext(ctx).Error(err, "The provider's files cannot be read; what was read before stays in use")
		r.say(unreadableText)
	case now == r.inUse:
		r.bad = ""
		r.say(inUseText)
	case now == r.bad && r.clock.Since(r.since) < refusalLasts:
		r.say(refusedText)
	case settled:
		r.change(ctx, now)
	}
}

func (r *rotation) change(ctx context.Context, now string) {
	logger := klog.FromContext(ctx)
	logger.Info("The provider's files have changed")
	what, err := r.apply(ctx)
	if ctx.Err() != nil {
		return
	}
	r.metrics.changes.WithLabelValues(string(what)).Inc()
	switch what {
	case applied:
		r.inUse, r.bad = now, ""
		r.say(inUseText)
		logger.Info("The provider works with the new configuration")
		r.tell(corev1.EventTypeNormal, "CloudConfigApplied", "The provider works with the new configuration.")
	case refused:
		again := r.bad == now
		r.bad, r.since = now, r.clock.Now()
		r.say(refusedText)
		// The error may show what is secret, and events are read by many.
		logger.Error(err, "The provider refuses its new configuration; the former one stays in use")
		if again {
			return
		}
		r.tell(corev1.EventTypeWarning, "CloudConfigRefused",
			"The provider refuses its new configuration, and the former one stays in use. The log says why. Put the files right.")
	case restart:
		r.tell(corev1.EventTypeNormal, "CloudConfigChanged", "The provider's configuration has changed. The process hands its lease over and ends, to be started again with it.")
		pause(ctx, tellingTime)
		r.fail(errRotated)
	}
}

// rotationMetrics count what became of changes.
type rotationMetrics struct {
	changes *metrics.CounterVec
	stale   *metrics.Gauge
}

func newRotationMetrics(register func(...metrics.Registerable)) rotationMetrics {
	m := rotationMetrics{
		changes: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_cloud_config_changes_total",
			Help:           "Changes of the provider's configuration files by result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
		stale: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_config_stale",
			Help:           "1 while the provider works with another configuration than its files have, since they are refused or cannot be read",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	register(m.changes, m.stale)
	return m
}

// holder has the provider, which may be replaced until it is taken to be
// initialised: that is done once in a process.
type holder struct {
	mu    sync.Mutex
	built built // guarded by mu
	taken bool  // guarded by mu
}

func (h *holder) get() built {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.built
}

func (h *holder) take() built {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = true
	return h.built
}

// replace says whether it was in time.
func (h *holder) replace(next built) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.taken {
		h.built = next
	}
	return !h.taken
}

// rotate makes the content of the provider's files the one in use: by the
// provider itself where it can, by another provider before this replica leads,
// by another process after that. What is refused changes nothing.
func (p *process) rotate(ctx context.Context) (outcome, error) {
	bounded, cancel := context.WithTimeout(ctx, p.options.provider.readTimeout)
	defer cancel()
	if r := p.holder.get().cloud; r.CanReload() {
		if err := p.reload(bounded, r); err != nil {
			return refused, err
		}
		return applied, nil
	}
	next, err := p.options.build(bounded, p.clients)
	switch {
	case err != nil:
		return refused, err
	case p.holder.replace(next):
		return applied, nil
	}
	return restart, nil
}

// reload gives the file to the provider.
func (p *process) reload(ctx context.Context, r *cloud.Provider) error {
	o := &p.options.provider
	config, done, err := o.open()
	if err != nil {
		return err
	}
	if err := r.Reload(ctx, config, done); err != nil {
		return fmt.Errorf("%s: %w", o.describe(), err)
	}
	return nil
}

package provider

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
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
	// eventTime is for the event to leave before the process ends.
	eventTime = time.Second
	// refusalExpiry is how long what was refused is not tried again: it may have
	// been for a cloud that was away.
	refusalExpiry = 5 * time.Minute
)

// Rotation follows the provider's files. It is used by one goroutine, except
// for State.
type Rotation struct {
	check   func() (string, error)                 // fingerprint of the files
	apply   func(context.Context) (outcome, error) // makes their content the one in use
	record  func(message.Event)                    // records an event
	fail    func(error)                            // ends the process
	metrics Metrics
	clock   clock.PassiveClock

	inUse  string    // fingerprint
	seen   string    // at the last check; files that are being written change again
	bad    string    // was refused
	since  time.Time // it was
	broken bool      // could not be read at the last check

	mu    sync.Mutex
	state string // guarded by mu
}

// What the probes say.
const (
	inUseText      = "as in the files"
	refusedText    = "the files have changed and were refused; what was read before is in use"
	unreadableText = "the files cannot be read; what was read before is in use"
)

// NewRotation returns a rotation of the files that the provider was made from.
// The fingerprint was taken before that: what has changed in the meantime is
// noticed then.
func NewRotation(files []string, fingerprint string, current *Current, m Metrics) *Rotation {
	return &Rotation{
		check:   func() (string, error) { return Fingerprint(files) },
		apply:   current.rotate,
		metrics: m,
		clock:   clock.RealClock{},
		inUse:   fingerprint,
		state:   inUseText,
	}
}

// State returns a sentence for the probes.
func (r *Rotation) State() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *Rotation) setState(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	r.metrics.stale.Set(map[bool]float64{true: 1}[state != inUseText])
}

// Reports is what a rotation tells the process.
type Reports struct {
	Event func(message.Event)
	Fail  func(error) // ends the process
}

// Run checks the files until ctx ends.
func (r *Rotation) Run(ctx context.Context, period time.Duration, to Reports) {
	r.record, r.fail = to.Event, to.Fail
	for pause(ctx, period) {
		r.step(ctx)
	}
}

func (r *Rotation) step(ctx context.Context) {
	now, err := r.check()
	settled := now == r.seen
	r.seen = now
	wasBroken := r.broken
	r.broken = err != nil
	switch {
	case err != nil && wasBroken:
	case err != nil:
		klog.FromContext(ctx).Error(err, "The provider's files cannot be read; what was read before stays in use")
		r.setState(unreadableText)
	case now == r.inUse:
		r.bad = ""
		r.setState(inUseText)
	case now == r.bad && r.clock.Since(r.since) < refusalExpiry:
		r.setState(refusedText)
	case settled:
		r.change(ctx, now)
	}
}

func (r *Rotation) change(ctx context.Context, now string) {
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
		r.setState(inUseText)
		logger.Info("The provider works with the new configuration")
		r.record(configApplied.Event("The provider works with the new configuration."))
	case refused:
		again := r.bad == now
		r.bad, r.since = now, r.clock.Now()
		r.setState(refusedText)
		// The error may show what is secret, and events are read by many.
		logger.Error(err, "The provider refuses its new configuration; the former one stays in use")
		if again {
			return
		}
		r.record(configRefused.Event("The provider refuses its new configuration, and the former one stays in use. The log says why. Correct the files."))
	case restart:
		r.record(configChanged.Event("The provider's configuration has changed. The process releases its lease and ends, to be started again with it."))
		pause(ctx, eventTime)
		r.fail(errRotated)
	}
}

// pause reports whether the time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

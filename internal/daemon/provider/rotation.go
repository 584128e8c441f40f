package provider

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// outcome is the result of a change of the provider's files. It is a label of a
// metric.
type outcome string

const (
	applied outcome = "applied" // the provider in use has the new content
	refused outcome = "refused" // the provider does not accept the new content, and the former content stays in use
	restart outcome = "restart" // the process ends, and the next one reads the new content
)

// ErrRotated is the error of a process that must be started again to use a new
// configuration.
var ErrRotated = errors.New("the provider's configuration has changed, and this provider reads it at its start only")

const (
	// eventTime is the time for which the process waits before it ends. During that
	// time, the event is sent.
	eventTime = time.Second
	// refusalExpiry is the time after which the rotation tries refused content
	// again. The cloud may have been unreachable at the first attempt.
	refusalExpiry = 5 * time.Minute
	// minRenewal is the shortest time between two renewals that the provider
	// requests. Without it, a provider that requests a renewal each time it is made
	// would be made again and again.
	minRenewal = time.Minute
)

// Rotation watches the provider's files. When they change, or when the provider
// requests it, Rotation puts their content into use. Only one goroutine may call
// Run. Any goroutine may call State.
type Rotation struct {
	asked   <-chan struct{}                        // requests of the provider
	check   func() (string, error)                 // returns the fingerprint of the files
	apply   func(context.Context) (outcome, error) // puts the content of the files into use
	record  func(message.Event)
	fail    func(error) // ends the process
	metrics Metrics
	clock   clock.PassiveClock

	// Fingerprints of the files.
	inUse   string // of the content that the provider works with
	checked string // of the content at the last check; new content is used after two equal checks in a row
	refused string // of the content that the provider has refused

	refusedAt  time.Time
	unreadable bool // whether the last check could not read the files

	mu    sync.Mutex
	state string // guarded by mu
}

// States that the probes show.
const (
	inUseText      = "as in the files"
	refusedText    = "the files have changed and were refused; the former content is in use"
	unreadableText = "the files cannot be read; the former content is in use"
)

// NewRotation returns a rotation of the files that the provider was made from. Take
// the fingerprint before the provider is made, so that a change of the files in the
// meantime is noticed.
func NewRotation(files []string, fingerprint string, current *Current, m Metrics) *Rotation {
	return &Rotation{
		check:   func() (string, error) { return Fingerprint(files) },
		apply:   current.rotate,
		asked:   current.factory.Asked,
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

// Reports are the functions by which a rotation reports to the process.
type Reports struct {
	Event func(message.Event)
	Fail  func(error) // ends the process
}

// Run checks the files once in each period until ctx ends. It puts the content of
// the files into use when the content has changed, and when the provider requests
// it. If period is 0, it acts only on requests of the provider.
func (r *Rotation) Run(ctx context.Context, period time.Duration, to Reports) {
	r.record, r.fail = to.Event, to.Fail
	var due <-chan time.Time
	if period > 0 {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		due = ticker.C
	}
	renewal := time.NewTimer(0) // for the requests of the provider
	defer renewal.Stop()
	renewal.Stop()
	var renewed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			r.step(ctx)
		case <-r.asked:
			renewal.Reset(max(minRenewal-r.clock.Since(renewed), 0))
		case <-renewal.C:
			renewed = r.clock.Now()
			r.renew(ctx)
		}
	}
}

// renew puts the content of the files into use at once, even if the content has not
// changed.
func (r *Rotation) renew(ctx context.Context) {
	now, err := r.check()
	if err != nil {
		klog.FromContext(ctx).Error(err, "The provider asks for its configuration to be read again, and its files cannot be read")
		r.setState(unreadableText)
		return
	}
	klog.FromContext(ctx).Info("The provider asks for its configuration to be read again")
	r.change(ctx, now)
}

func (r *Rotation) step(ctx context.Context) {
	now, err := r.check()
	settled := now == r.checked
	r.checked = now
	wasUnreadable := r.unreadable
	r.unreadable = err != nil
	switch {
	case err != nil && wasUnreadable:
	case err != nil:
		klog.FromContext(ctx).Error(err, "Files of the provider cannot be read; the former content stays in use")
		r.setState(unreadableText)
	case now == r.inUse:
		r.refused = ""
		r.setState(inUseText)
	case now == r.refused && r.clock.Since(r.refusedAt) < refusalExpiry:
		r.setState(refusedText)
	case settled:
		klog.FromContext(ctx).Info("Files of the provider have changed")
		r.change(ctx, now)
	}
}

func (r *Rotation) change(ctx context.Context, now string) {
	logger := klog.FromContext(ctx)
	what, err := r.apply(ctx)
	if ctx.Err() != nil {
		return
	}
	r.metrics.changes.WithLabelValues(string(what)).Inc()
	switch what {
	case applied:
		r.inUse, r.refused = now, ""
		r.setState(inUseText)
		logger.Info("The provider works with the new configuration")
		r.record(configApplied.Event("The provider works with the new configuration."))
	case refused:
		again := r.refused == now
		r.refused, r.refusedAt = now, r.clock.Now()
		r.setState(refusedText)
		// The event does not contain the error, because the error may contain secrets,
		// and more people read events than logs.
		logger.Error(err, "The provider refused its new configuration; the former one stays in use")
		if again {
			return
		}
		r.record(configRefused.Event(
			"The provider refused its new configuration, and the former one stays in use. The log says why. Correct the files."))
	case restart:
		r.record(configChanged.Event("The provider's configuration has changed. The process ends, so that it is started again with the new configuration. If it leads, it releases its lease first."))
		sleep.For(ctx, eventTime)
		r.fail(ErrRotated)
	}
}

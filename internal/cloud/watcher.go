package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
)

const (
	// watchTimeout is the time after which a call of the watch is canceled. The
	// contract asks the provider to return after two minutes.
	watchTimeout = 3 * time.Minute
	// maxLostPlaces is the number of failed calls in a row after which the watch starts
	// again without a token, because the token might be the cause.
	maxLostPlaces = 3
)

var errNoToken = errors.New("the provider returned no token to go on with")

// Watcher waits for changes of instances. A watch gives only hints (decision 10): the
// caller then asks the cloud about each node that the watch has named.
type Watcher struct {
	gateway *Gateway
	watcher provider.InstanceWatcher
	calls   inflight[Changes]

	mu       sync.Mutex
	token    string    // the token of the next call; guarded by mu
	failures int       // the number of failures in a row; guarded by mu
	since    time.Time // the watch has missed no change after this time, zero if that is unknown; guarded by mu
	last     Kind      // the kind of the last failure; guarded by mu
	missed   string    // a node whose change the watch has not named; guarded by mu
}

// Changes has the provider IDs or the node names of instances that have changed.
type Changes struct {
	ProviderIDs, NodeNames []string

	resume string
	lost   bool // the cloud no longer knows the changes since the token
}

// Watcher returns the provider's Watcher. It returns nil if the provider offers
// none.
func (i *Instances) Watcher() *Watcher { return i.watcher }

func newWatcher(g *Gateway, found parts) *Watcher {
	if found.watcher == nil {
		return nil
	}
	g.metrics.watch.Set(0)
	return &Watcher{gateway: g, watcher: found.watcher, calls: inflight[Changes]{callerTimeout: watchTimeout + grace}}
}

// Next waits for changes that are newer than those that it returned last. It returns
// new changes as soon as there are any. If there are none, it returns without changes
// after some minutes. Next must not be called twice at the same time.
func (w *Watcher) Next(ctx context.Context) (Changes, error) {
	w.mu.Lock()
	token, began := w.token, time.Now()
	w.mu.Unlock()
	const method = "WatchInstances"
	c := call{method: method, priority: lowPriority, names: []string{method}, split: true, waits: true}
	got, err := w.calls.ask(ctx, c, token, func(ctx context.Context, c call) (Changes, error) {
		return w.call(ctx, c, token)
	})
	if KindOf(err) != Canceled {
		w.record(ctx, began, got, err)
	}
	return got, err
}

// call makes one call. The call begins when the limiter allows it. After that, it
// does not count as a call under way, because it waits for minutes and would hold
// back others.
func (w *Watcher) call(ctx context.Context, c call, token string) (Changes, error) {
	g := w.gateway
	if err := g.health.leftAlone(c); err != nil {
		return Changes{}, err
	}
	of, err := g.limiter.wait(ctx, c)
	if err != nil {
		return Changes{}, c.unmade(err)
	}
	c.class = of
	g.limiter.ended(of)
	return once(ctx, g, attempt{c, watchTimeout}, func(ctx context.Context) (Changes, error) {
		theirs, err := w.watcher.WatchInstances(ctx, token)
		switch {
		case errors.Is(err, provider.ErrWatchExpired):
			return Changes{lost: true}, nil
		case err != nil:
			return Changes{}, err
		case theirs.Resume == "":
			return Changes{}, errNoToken
		}
		got := Changes{resume: theirs.Resume}
		for _, ref := range theirs.Changed {
			if ref.ProviderID != "" {
				got.ProviderIDs = append(got.ProviderIDs, ref.ProviderID)
			}
			if ref.NodeName != "" {
				got.NodeNames = append(got.NodeNames, ref.NodeName)
			}
		}
		return got, nil
	})
}

// record records how a call has ended, and logs when the watch begins or
// ceases to work.
func (w *Watcher) record(ctx context.Context, began time.Time, got Changes, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	logger := klog.FromContext(ctx)
	switch {
	case err != nil:
		if w.failures++; w.failures == 1 {
			logger.Info("The watch of the cloud's instances does not work; all nodes are compared with the cloud in each period", "err", err)
		}
		if w.failures >= maxLostPlaces {
			w.token, w.since = "", time.Time{}
		}
		w.last = KindOf(err)
	case got.lost:
		logger.Info("The watch of the cloud's instances has missed changes; it begins anew, and all nodes are compared with the cloud")
		w.token, w.since = "", time.Time{}
	default:
		if w.failures > 0 || w.since.IsZero() {
			logger.Info("The watch of the cloud's instances works")
		}
		if w.since.IsZero() {
			w.since = began
		}
		w.token, w.failures = got.resume, 0
	}
	w.gateway.metrics.watch.Set(w.works())
}

// works returns the value of the metric that shows whether the watch works. The
// caller holds mu.
func (w *Watcher) works() float64 {
	if w.failures == 0 && !w.since.IsZero() && w.missed == "" {
		return 1
	}
	return 0
}

// Since returns the time after which the watch has missed no change, and reports
// whether the watch works now.
func (w *Watcher) Since() (since time.Time, works bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, w.failures == 0 && !w.since.IsZero()
}

// Missed records that the watch has not named an instance that has changed. From then
// on the watch counts as if it had just begun.
func (w *Watcher) Missed(ctx context.Context, node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed == "" {
		klog.FromContext(ctx).Info("The watch of the cloud's instances has not named a change; all nodes are compared with the cloud", "node", node)
	}
	w.since, w.missed = time.Now(), node
	w.gateway.metrics.watch.Set(w.works())
}

// Compared records that all nodes were compared with the cloud after the watch
// began.
func (w *Watcher) Compared() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missed = ""
	w.gateway.metrics.watch.Set(w.works())
}

// State describes the watch in words, without the texts of errors.
func (w *Watcher) State() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failures > 0:
		return fmt.Sprintf("the watch of instances has failed (%s, %d times in a row), so all nodes are compared in each period", w.last, w.failures)
	case w.since.IsZero():
		return "the watch of instances has not begun"
	case w.missed != "":
		return "the watch of instances has not named a change, so all nodes are compared in each period"
	default:
		return "the watch of instances works"
	}
}

// Package view sends all resources and their changes as server-sent events. The
// cloud's page reads this feed.
//
// It does not depend on any kind of resource: package api passes in the
// collections. It imports faults and meter. Only package api imports it.
package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/meter"
)

const (
	// minPause is the shortest time between two rounds of a watch. In each round,
	// a watch sends the changes since the last round.
	minPause = 200 * time.Millisecond
	// MaxIdle is the longest time between two rounds, unless pauseFactor requires a
	// longer pause. This limit is needed because a resource that changes by itself does
	// not wake a watch.
	MaxIdle = time.Second
	// pauseFactor keeps a watch from using much of the machine's time. After a round,
	// the watch pauses for at least pauseFactor times the duration of the round, but
	// for at most maxPause.
	pauseFactor = 20
	maxPause    = 5 * time.Second
	// WriteTimeout is the longest time that a watcher may take to read the data of one
	// round.
	WriteTimeout = 10 * time.Second
)

// Config says what a feed sends.
type Config struct {
	Clock       clock.Clock
	Cloud       Description
	Collections []Collection
	Faults      *faults.Set
	Meter       *meter.Meter
}

// Collection is all resources of one kind.
type Collection struct {
	// Name is the name of the event, and the path under /operator/v1.
	Name string
	All  func(context.Context) any
}

// Feed sends watchers all resources and then their changes. It is an
// http.Handler.
type Feed struct {
	config   Config
	watchers watchers
}

// New returns a feed without watchers.
func New(config Config) *Feed { return &Feed{config: config} }

// Watchers returns the number of watchers.
func (f *Feed) Watchers() int { return f.watchers.count() }

// Wake tells the watchers that something may have changed. It does not block.
func (f *Feed) Wake() { f.watchers.wake() }

// ServeHTTP sends server-sent events until the caller goes away. First it sends all collections,
// and then each collection that changes. Each event has the name of a collection under
// /operator/v1. Its data is what a GET of that path would return if all items were on one page.
// The event "calls" lists only new calls. The event "cloud" holds the Description. If there is
// nothing to send, ServeHTTP sends the event "beat".
//
// Nothing is queued for a slow reader. It skips some states and gets the newest one,
// with the number of calls that it has missed.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	woken, leave := f.watchers.join()
	defer leave()
	ctx := r.Context()
	reader := watcher{Config: f.config, out: w, sent: map[string][]byte{}}
	for {
		began := f.config.Clock.Now()
		if err := reader.send(ctx); err != nil {
			klog.FromContext(ctx).V(4).Info("Watch ended", "err", err)
			return
		}
		pause := min(max(minPause, pauseFactor*f.config.Clock.Since(began)), maxPause)
		if !f.pause(ctx, pause, nil) || !f.pause(ctx, MaxIdle-pause, woken) {
			return
		}
	}
}

// pause waits for the given time, or until it is woken or the context ends. It returns
// false if the context has ended.
func (f *Feed) pause(ctx context.Context, pause time.Duration, woken <-chan struct{}) bool {
	timer := f.config.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// watcher is one reader of a feed, and what was last sent to it.
type watcher struct {
	Config

	out  http.ResponseWriter
	sent map[string][]byte // the data that was sent last, by name of the event
	read meter.Bookmark
}

// send writes each collection that differs from what was last sent.
func (w *watcher) send(ctx context.Context) error {
	var news bytes.Buffer
	if err := w.gather(ctx, &news); err != nil {
		return err
	}
	if news.Len() == 0 {
		writeEvent(&news, "beat", []byte("{}")) // browsers skip an event without data
	}
	control := http.NewResponseController(w.out)
	deadline := w.Clock.Now().Add(WriteTimeout)
	if err := control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.out.Write(news.Bytes()); err != nil {
		return err
	}
	return control.Flush()
}

func (w *watcher) gather(ctx context.Context, into *bytes.Buffer) error {
	if err := w.differing(into, "cloud", w.Cloud); err != nil {
		return err
	}
	for _, c := range w.Collections {
		if err := w.differing(into, c.Name, c.All(ctx)); err != nil {
			return err
		}
	}
	if err := w.differing(into, "faults", w.Faults.List(w.Clock.Now())); err != nil {
		return err
	}
	news, now := w.Meter.Since(w.read)
	if now == w.read {
		return nil
	}
	w.read = now
	encoded, err := json.Marshal(news)
	writeEvent(into, "calls", encoded)
	return err
}

// differing writes an event, unless its data is the same as in the last event of this
// name.
func (w *watcher) differing(into *bytes.Buffer, event string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil || bytes.Equal(encoded, w.sent[event]) {
		return err
	}
	w.sent[event] = encoded
	writeEvent(into, event, encoded)
	return nil
}

func writeEvent(into *bytes.Buffer, event string, data []byte) {
	fmt.Fprintf(into, "event: %s\ndata: %s\n\n", event, data)
}

// Description describes a cloud: its settings, its limits, and the faults that
// can be set. It never changes while the cloud runs.
type Description struct {
	Started  time.Time `json:"started"`
	PageSize int       `json:"pageSize"`
	// Traffic reports whether load balancers carry traffic.
	Traffic bool `json:"traffic"`
	// Cluster reports whether the page can also show a cluster.
	Cluster          bool                 `json:"cluster,omitempty"`
	MaxLoadBalancers int                  `json:"maxLoadBalancers,omitempty"`
	MaxBackends      int                  `json:"maxBackends,omitempty"`
	MaxRoutes        int                  `json:"maxRoutes,omitempty"`
	UniqueRoutes     bool                 `json:"uniqueRoutes,omitempty"`
	FaultKinds       []faults.Description `json:"faultKinds"`
}

// watchers are woken when something may have changed. The zero value has no
// watchers.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool // guarded by mu
}

// join returns a channel that gets a value whenever something may have changed. The
// function leave ends this.
func (w *watchers) join() (woken <-chan struct{}, leave func()) {
	bell := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[chan struct{}]bool{}
	}
	w.all[bell] = true
	return bell, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, bell)
	}
}

// wake wakes all watchers. It does not block.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for bell := range w.all {
		select {
		case bell <- struct{}{}:
		default: // a wake is already pending
		}
	}
}

func (w *watchers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

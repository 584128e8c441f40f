package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	// watchPause is the shortest time between two looks of a watch, in which
	// what happens is gathered, and watchTick the longest: what changes by
	// itself wakes nobody.
	watchPause = 200 * time.Millisecond
	watchTick  = time.Second
	// watchShare is how many times longer than its look a watch rests, so that
	// it never takes more than a small part of the machine, up to watchLongest.
	watchShare   = 20
	watchLongest = 5 * time.Second
	// watchPatience is how long a watcher may take to read.
	watchPatience = 10 * time.Second
)

// watchers are woken when something may have changed.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool // guarded by mu
}

func newWatchers() *watchers { return &watchers{all: map[chan struct{}]bool{}} }

// join returns what is sent to when something may have changed, until leave.
func (w *watchers) join() (woken <-chan struct{}, leave func()) {
	bell := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[bell] = true
	return bell, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, bell)
	}
}

// wake waits for nobody.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for bell := range w.all {
		select {
		case bell <- struct{}{}:
		default: // it has been woken
		}
	}
}

// watch tells everything that there is, and then what changes, as server-sent
// events until the caller goes away. Each event has the name of a collection
// under /operator/v1 and says what is in it now, as that would. Only of calls
// it says what is new. When there is nothing to say, it sends "beat".
//
// A watcher is remembered by what it was told last and nothing else: whoever
// reads slowly is told the newest state, and how many calls it has missed.
func (c *Cloud) watch(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	woken, leave := c.watchers.join()
	defer leave()
	ctx := r.Context()
	reader := watcher{cloud: c, out: w, told: map[string][]byte{}}
	for {
		began := c.clock.Now()
		if err := reader.tell(ctx); err != nil {
			klog.FromContext(ctx).V(4).Info("A watch has ended", "err", err)
			return
		}
		pause := min(max(watchPause, watchShare*c.clock.Since(began)), watchLongest)
		if !c.rest(ctx, pause, nil) || !c.rest(ctx, watchTick-pause, woken) {
			return
		}
	}
}

// rest lasts for a time, or until it is woken; false means that the context has
// ended.
func (c *Cloud) rest(ctx context.Context, pause time.Duration, woken <-chan struct{}) bool {
	timer := c.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// watcher is somebody who watches, and what it was told.
type watcher struct {
	cloud *Cloud
	out   http.ResponseWriter
	told  map[string][]byte // by event
	read  bookmark
}

// tell sends what differs from what was told before.
func (w *watcher) tell(ctx context.Context) error {
	var news bytes.Buffer
	if err := w.gather(ctx, &news); err != nil {
		return err
	}
	if news.Len() == 0 {
		writeEvent(&news, "beat", []byte("{}")) // browsers skip an event without data
	}
	control := http.NewResponseController(w.out)
	deadline := w.cloud.clock.Now().Add(watchPatience)
	if err := control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.out.Write(news.Bytes()); err != nil {
		return err
	}
	return control.Flush()
}

func (w *watcher) gather(ctx context.Context, into *bytes.Buffer) error {
	if err := w.differing(into, "cloud", w.cloud.description()); err != nil {
		return err
	}
	for _, k := range w.cloud.kinds() {
		for _, e := range k.endpoints {
			if !e.call.lists() {
				continue
			}
			all, err := everything(ctx, e)
			if err != nil {
				return fmt.Errorf("%s: %w", e.call, err)
			}
			if err := w.differing(into, strings.TrimPrefix(e.path, "/"), all); err != nil {
				return err
			}
		}
	}
	if err := w.differing(into, "faults", w.cloud.faults.list()); err != nil {
		return err
	}
	news, now := w.cloud.meter.since(w.read)
	if now == w.read {
		return nil
	}
	w.read = now
	encoded, err := json.Marshal(news)
	writeEvent(into, "calls", encoded)
	return err
}

// differing writes an event, unless it has been told.
func (w *watcher) differing(into *bytes.Buffer, event string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil || bytes.Equal(encoded, w.told[event]) {
		return err
	}
	w.told[event] = encoded
	writeEvent(into, event, encoded)
	return nil
}

func writeEvent(into *bytes.Buffer, event string, data []byte) {
	fmt.Fprintf(into, "event: %s\ndata: %s\n\n", event, data)
}

// listPage is a page of any list.
type listPage struct {
	Items    []json.RawMessage `json:"items"`
	Continue string            `json:"continue,omitempty"`
}

// everything is all that a list has, whatever it lists, without any faults.
func everything(ctx context.Context, list endpoint) (listPage, error) {
	all := listPage{Items: []json.RawMessage{}}
	query := url.Values{}
	for {
		page, err := onePage(ctx, list, query)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		if page.Continue == "" {
			return all, nil
		}
		query.Set("continue", page.Continue)
	}
}

func onePage(ctx context.Context, list endpoint, query url.Values) (listPage, error) {
	var page listPage
	request, err := http.NewRequestWithContext(ctx, list.method, list.path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return page, err
	}
	op, err := list.read(request, nil)
	if err != nil {
		return page, err
	}
	answer, err := op.run(ctx, view{})
	if err != nil {
		return page, err
	}
	encoded, err := json.Marshal(answer.body)
	if err != nil {
		return page, err
	}
	return page, json.Unmarshal(encoded, &page)
}

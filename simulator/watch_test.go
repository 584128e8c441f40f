package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/meter"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// event is one event of a watch.
type event struct{ name, data string }

func (e event) String() string { return e.name + " " + e.data }

// reading is a watch and its reader.
type reading struct {
	t     *testing.T
	body  io.Closer
	lines *bufio.Scanner
}

// watch begins a watch, which ends when the context ends. It reads nothing yet.
func watch(ctx context.Context, t *testing.T, c *Client) *reading {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/operator/v1/watch", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.http.Do(request) //nolint:bodyclose // it is closed when the test ends
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "Content-Type", "text/event-stream", answer.Header.Get("Content-Type"))
	r := &reading{t: t, body: answer.Body, lines: bufio.NewScanner(answer.Body)}
	r.lines.Buffer(nil, maxAnswer)
	t.Cleanup(r.close)
	return r
}

func (r *reading) close() {
	if err := r.body.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		r.t.Logf("close: %v", err)
	}
}

// any returns the next event. It returns false if the watch has ended.
func (r *reading) any() (event, bool) {
	var e event
	for r.lines.Scan() {
		switch key, value, _ := strings.Cut(r.lines.Text(), ": "); key {
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			return e, true
		}
	}
	return e, false
}

// next returns the next event that is not a "beat".
func (r *reading) next() event {
	r.t.Helper()
	const day = 24 * time.Hour / view.MaxIdle
	for range day {
		e, ok := r.any()
		if !ok {
			r.t.Fatalf("the watch has ended: %v", r.lines.Err())
		}
		if e.name != "beat" {
			return e
		}
	}
	r.t.Fatal("the watch has sent only beats for a day")
	return event{}
}

// skip reads the events with which a watch begins. The last one is "calls".
func (r *reading) skip() {
	r.t.Helper()
	for r.next().name != "calls" {
	}
}

func (r *reading) calls() meter.News {
	r.t.Helper()
	e := r.next()
	diff(r.t, "event", "calls", e.name)
	var news meter.News
	if err := json.Unmarshal([]byte(e.data), &news); err != nil {
		r.t.Fatal(err)
	}
	return news
}

func TestWatchTellsEverythingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{PageSize: 1, MaxBackends: 7, Standing: []Fault{{Name: "quota", Kind: FaultThrottle, Rate: 1}}})
		for _, name := range []string{"node-1", "node-2", "node-3"} {
			mustCreate(t, c, Instance{Name: name})
		}
		mustSet(t, c, Fault{Kind: FaultEmptyList})
		r := watch(t.Context(), t, c)
		told := map[string]string{}
		e := r.next()
		for ; e.name != "calls"; e = r.next() {
			told[e.name] = e.data
		}
		diff(t, "the cloud is described", true, strings.Contains(told["cloud"], `"maxBackends":7`))
		diff(t, "instances", 3, strings.Count(told["instances"], `"id"`))
		for _, none := range []string{"load-balancers", "static-ips", "routes", "volumes"} {
			diff(t, none, `{"items":[]}`, told[none])
		}
		diff(t, "faults",
			`{"items":[{"name":"emptyList","kind":"emptyList"}],"standing":[{"name":"quota","kind":"throttle","rate":1,"burst":1,"tokens":1}]}`, told["faults"])
		diff(t, "calls", `{"counters":[],"last":[],"fresh":true,"missed":0}`, e.data)
	})
}

func TestWatchTellsWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Transition: time.Hour})
		r := watch(t.Context(), t, c)
		r.skip()

		created, err := c.CreateInstance(t.Context(), Instance{Name: "node-1"})
		diff(t, "error", nil, err)
		told := r.next()
		diff(t, "event", "instances", told.name)
		diff(t, "the new instance is sent as pending", true, strings.Contains(told.data, `"state":"pending"`))
		news := r.calls()
		diff(t, "fresh", false, news.Fresh)
		diff(t, "calls", 1, len(news.Last))
		diff(t, "call", CreateInstance, news.Last[0].Call)

		told = r.next() // comes an hour later in the bubble's time, when the instance is running
		diff(t, "a change by itself is sent", true, strings.Contains(told.data, `"state":"running"`))

		_, err = c.Operator().Instances(t.Context())
		diff(t, "error", nil, err)
		mustSet(t, c, Fault{Kind: FaultOutage})
		diff(t, "a request of the operator is not sent as a call", `faults {"items":[{"name":"outage","kind":"outage"}]}`, r.next().String())

		diff(t, "reset", nil, c.ResetCalls(t.Context()))
		news = r.calls()
		diff(t, "a reset begins anew", meter.News{CallReport: CallReport{Counters: []CallCounter{}, Last: []wire.CallRecord{}}, Fresh: true}, news)

		diff(t, "terminate", nil, c.Operator().TerminateInstance(t.Context(), created.ID))
		diff(t, "event", "instances", r.next().name)
	})
}

func TestWatchTellsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		r := watch(t.Context(), t, c)
		r.skip()
		time.Sleep(view.MaxIdle / 2) // in the bubble's time
		called := time.Now()
		mustCreate(t, c, Instance{Name: "node-1"})
		diff(t, "event", "instances", r.next().name)
		diff(t, "time until a change by the operator is sent", time.Duration(0), time.Since(called))
		time.Sleep(view.MaxIdle / 2)
		called = time.Now()
		_, err := c.Instances(t.Context())
		diff(t, "error", nil, err)
		diff(t, "calls", 1, len(r.calls().Last))
		diff(t, "time until a call is sent", time.Duration(0), time.Since(called))
	})
}

func TestWhoReadsSlowlyHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		r := watch(t.Context(), t, c)
		synctest.Wait() // until the watch blocks while it sends its first events
		const made = 3 * meter.Remembered
		for range made {
			_, err := c.Instances(t.Context())
			diff(t, "error", nil, err)
		}
		for r.next().name != "faults" {
		}
		told, missed := int64(0), int64(0)
		for told+missed < made {
			news := r.calls()
			told, missed = told+int64(len(news.Last)), missed+news.Missed
		}
		diff(t, "each call is sent or counted as missed", int64(made), told+missed)
		diff(t, "only the remembered calls are sent", true, missed >= made-2*meter.Remembered)
	})
}

func TestWatchEnds(t *testing.T) {
	for name, end := range map[string]func(r *reading, hangUp, stop context.CancelFunc){
		"WhenTheReaderGoesAway":   func(_ *reading, hangUp, _ context.CancelFunc) { hangUp() },
		"WhenTheReaderNeverReads": func(*reading, context.CancelFunc, context.CancelFunc) { time.Sleep(2 * view.WriteTimeout) },
		"WhenTheCloudStops":       func(r *reading, _, stop context.CancelFunc) { r.skip(); stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud, err := New(Config{})
				if err != nil {
					t.Fatal(err)
				}
				pipes := newPipes()
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- cloud.Serve(ctx, pipes) }()
				reader, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				r := watch(reader, t, pipes.client())
				synctest.Wait()
				diff(t, "watchers", 1, cloud.api.Watchers())
				end(r, hangUp, stop)
				synctest.Wait()
				diff(t, "watchers that are left", 0, cloud.api.Watchers())
				hangUp()
				stop()
				diff(t, "Serve", nil, <-served)
			})
		})
	}
}

func TestHeadOfAWatch(t *testing.T) {
	cloud, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	cloud.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "http://localhost/operator/v1/watch", nil))
	diff(t, "status", http.StatusOK, w.Code) // ServeHTTP has returned, because HEAD begins no watch
}

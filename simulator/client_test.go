package simulator

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/meter"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestAnswersOfWhatIsNoSimulatedCloud(t *testing.T) {
	for name, row := range map[string]struct {
		status int
		body   string
		want   string // empty: no *APIError but a *url.Error
	}{
		"NotFoundOfAProxy": {404, "<html>", "the cloud answered 404: %s does not answer as a simulated cloud does"},
		"OtherJSON":        {500, `{"error":"x"}`, "the cloud answered 500: %s does not answer as a simulated cloud does"},
		"Redirect":         {302, "", "the cloud answered 302: %s does not answer as a simulated cloud does"},
		"SuccessInHTML":    {200, "<html>", ""},
		"CutOff":           {200, `{"items":[`, ""},
		"NoList":           {200, `{"items":{}}`, ""},
		"Endless":          {200, strings.Repeat(" ", maxAnswer+1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere.invalid")
				w.WriteHeader(row.status)
				if _, err := w.Write([]byte(row.body)); err != nil {
					t.Logf("write: %v", err) // expected: the client stops reading at its limit
				}
			}))
			t.Cleanup(server.Close)
			_, err := NewClient(server.URL + "/").Instances(t.Context())
			if row.want == "" {
				if _, ok := errors.AsType[*url.Error](err); !ok {
					t.Errorf("got %v, want a *url.Error", err)
				}
				return
			}
			want := strings.ReplaceAll(row.want, "%s", strings.TrimPrefix(server.URL, "http://"))
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if IsNotFound(err) {
				t.Error("IsNotFound is true, although no simulated cloud answered")
			}
		})
	}
}

func TestPagesWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte(`{"items":[{"id":"i-00000001"}],"continue":"x"}`)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	if all, err := NewClient(server.URL).Instances(t.Context()); err == nil {
		t.Errorf("got %d instances and no error", len(all))
	}
}

func TestHalfAListIsNoList(t *testing.T) {
	c := start(t, Config{PageSize: 1})
	mustCreate(t, c, Instance{Name: "node-1"})
	mustCreate(t, c, Instance{Name: "node-2"})
	mustSet(t, c, Fault{Kind: FaultThrottle, Rate: 0.001, Burst: 1})
	all, err := c.Instances(t.Context())
	if err == nil || all != nil {
		t.Errorf("got %v, %v; want an error alone", all, err)
	}
}

func TestContextIsHonoured(t *testing.T) {
	c := start(t, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer wanted"))
	if _, err := c.Instances(ctx); err == nil || !strings.Contains(err.Error(), "no longer wanted") {
		t.Errorf("got %v", err)
	}
	mustSet(t, c, Fault{Kind: FaultHang})
	ctx, cancelTimeout := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelTimeout()
	if _, err := c.Instances(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestBadURL(t *testing.T) {
	for _, base := range []string{"127.0.0.1:1", "http://bad host", ""} {
		if _, err := NewClient(base).Instances(t.Context()); err == nil {
			t.Errorf("%q: no error", base)
		}
	}
}

func TestCallsAreCounted(t *testing.T) {
	c := start(t, Config{})
	created := mustCreate(t, c, Instance{Name: "by-the-operator"})
	_, missing := c.Instance(t.Context(), "i-00000009")
	diff(t, "missing", wire.CodeNotFound, code(missing))
	diff(t, "error", nil, c.StopInstance(t.Context(), created.ID))
	_, err := c.CreateInstance(t.Context(), Instance{Name: "a b"})
	diff(t, "invalid", wire.CodeInvalid, code(err))
	_, err = c.FindInstances(t.Context(), Query{Names: []string{"by-the-operator"}})
	diff(t, "error", nil, err)
	names(t, c)
	names(t, c)

	report, err := c.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "counters", []CallCounter{
		{Call: CreateInstance, Result: wire.CodeInvalid, Count: 1}, {Call: GetInstance, Result: wire.CodeNotFound, Count: 1}, {Call: ListInstances, Result: ResultOK, Count: 3}, {Call: StopInstance, Result: ResultOK, Count: 1},
	}, report.Counters)
	var last []wire.CallRecord
	for _, r := range report.Last {
		r.Time, r.Duration = time.Time{}, 0
		last = append(last, r)
	}
	diff(t, "last", []wire.CallRecord{
		{Call: GetInstance, Instance: "i-00000009", Status: 404, Result: wire.CodeNotFound},
		{Call: StopInstance, Instance: created.ID, Status: 200, Result: ResultOK},
		{Call: CreateInstance, Instance: "a b", Status: 400, Result: wire.CodeInvalid},
		{Call: ListInstances, Instance: "by-the-operator", Status: 200, Result: ResultOK},
		{Call: ListInstances, Status: 200, Result: ResultOK},
		{Call: ListInstances, Status: 200, Result: ResultOK},
	}, last)
	diff(t, "all", int64(6), report.Count())
	diff(t, "some", int64(4), report.Count(ListInstances, GetInstance))

	for range meter.Remembered + 5 {
		names(t, c)
	}
	report, err = c.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "remembered", meter.Remembered, len(report.Last))
	diff(t, "counted", int64(meter.Remembered+5+6), report.Count())
	diff(t, "error", nil, c.ResetCalls(t.Context()))
	report, err = c.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "after a reset", CallReport{Counters: []CallCounter{}, Last: []wire.CallRecord{}}, report)
}

func TestManyAtOnce(t *testing.T) {
	c := start(t, Config{StateFile: t.TempDir() + "/cloud.json"})
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			created, err := c.CreateInstance(t.Context(), Instance{Name: "node"})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.UpdateInstance(t.Context(), created.ID, InstancePatch{Type: new("large")}); err != nil {
				t.Error(err)
			}
			if _, err := c.Instances(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	all, err := c.Instances(t.Context())
	diff(t, "error", nil, err)
	addresses := map[Address]bool{}
	for _, i := range all {
		addresses[i.Addresses[0]] = true
	}
	diff(t, "instances", 50, len(all))
	diff(t, "addresses", 50, len(addresses))
}

func TestHealthz(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultOutage})
	diff(t, "/healthz during an outage", nil, c.do(t.Context(), http.MethodGet, "/healthz", nil, nil))
}

// TestErrorsShowNoPassword uses URLs with a password. A proxy in front of a cloud may
// need a password.
func TestErrorsShowNoPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte("{}"))
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, base := range map[string]string{
		"AnswerIsNoJSON": "http://me:secret@" + host,
		"NothingListens": "http://me:secret@127.0.0.1:1",
		"NoURL":          "http://me:secret%zz@" + host,
		"NoPort":         "http://me:sec/ret@" + host,
	} {
		t.Run(name, func(t *testing.T) {
			c := NewClient(base)
			_, err := c.Instances(t.Context())
			_, changes := c.ChangeRoutes(t.Context(), []RouteChange{{}})
			for _, err := range []error{err, changes} {
				if err == nil || strings.Contains(err.Error(), "sec") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

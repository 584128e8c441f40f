package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // registers the metrics
	"k8s.io/utils/clock"
)

// run starts the loop inside a synctest bubble. It returns a function that
// stops the loop and waits for its end.
func run(t *testing.T, l *Loop) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func TestFailingKeyComesBackWithGrowingDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var passes []time.Duration
		l := New("test", func(context.Context, string) (Result, error) {
			passes = append(passes, time.Since(start).Round(time.Second))
			return Result{Retry: len(passes)%2 == 0}, map[bool]error{true: errors.New("refused")}[len(passes)%2 == 1]
		}, Config{})
		defer run(t, l)()
		l.Add("a")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(passes) < 10 || len(passes) > 12 {
			t.Errorf("%d passes in five minutes (%v), want delays of 0.5 s to a minute, each double the last and up to a quarter more", len(passes), passes)
		}
	})
}

func TestKeyComesBackWhenItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := 0
		l := New("test", func(context.Context, string) (Result, error) {
			passes++
			return Result{After: time.Minute}, nil
		}, Config{})
		defer run(t, l)()
		l.Add("a")
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		if passes != 4 {
			t.Errorf("%d passes in three minutes, want one at once and one a minute", passes)
		}
	})
}

// Alerts fire at some retries in an hour, so the metric counts failures and no planned
// passes.
func TestMetricOfRetriesCountsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "retries"
		passes := 0
		l := New(name, func(context.Context, string) (Result, error) {
			passes++
			return Result{After: time.Minute, Retry: passes == 3}, nil
		}, Config{})
		defer run(t, l)()
		l.Add("a")
		l.AddAfter("b", time.Second)
		l.AddLowAfter("c", time.Second)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := -1.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "workqueue_retries_total" && m.GetLabel()[0].GetValue() == name {
					got = m.GetCounter().GetValue()
				}
			}
		}
		if got != 1 {
			t.Errorf("%v retries counted after %d passes, want 1", got, passes)
		}
	})
}

// A pass that continues later does not count as a success, so the delays go on
// growing.
func TestUnfinishedPassForgetsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := 0
		l := New("test", func(context.Context, string) (Result, error) {
			passes++
			if passes%2 == 0 {
				return Result{After: time.Second, Unfinished: true}, nil
			}
			return Result{Retry: true}, nil
		}, Config{})
		defer run(t, l)()
		l.Add("a")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if passes < 16 || passes > 24 {
			t.Errorf("%d passes in five minutes, want ten failures with growing delays, and one pass after each", passes)
		}
	})
}

func TestSuccessForgetsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		fail.Store(true)
		l := New("test", func(context.Context, string) (Result, error) { return Result{Retry: fail.Load()}, nil }, Config{})
		defer run(t, l)()
		l.Add("a")
		time.Sleep(10 * time.Second)
		fail.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if diff := cmp.Diff(map[string]int{}, l.failures); diff != "" {
			t.Errorf("failures kept (-want +got):\n%s", diff)
		}
	})
}

func TestOneKeyIsNeverWorkedOnTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{}, 1)
		var passes atomic.Int32
		l := New("test", func(context.Context, string) (Result, error) {
			select {
			case busy <- struct{}{}:
			default:
				t.Error("two workers have the same key")
			}
			time.Sleep(time.Second)
			passes.Add(1)
			<-busy
			return Result{}, nil
		}, Config{Workers: 8})
		defer run(t, l)()
		for range 20 {
			l.Add("a")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		if passes := passes.Load(); passes < 2 || passes > 4 {
			t.Errorf("%d passes for adds over two seconds, want one pass for all adds during a pass", passes)
		}
	})
}

// While the Result.Rest of a pass runs, the worker takes other keys, but not the key of
// the pass. The result of Rest is the result of the whole pass.
func TestRestKeepsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var log []string // guarded by mu
		note := func(what, key string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf("%v %s %s", time.Since(began), what, key))
		}
		var failed atomic.Bool
		l := New("test", func(_ context.Context, key string) (Result, error) {
			note("pass", key)
			time.Sleep(time.Second)
			return Result{Rest: func(context.Context) (Result, error) {
				note("rest", key)
				time.Sleep(1500 * time.Millisecond)
				if key == "b" && !failed.Swap(true) {
					return Result{}, errors.New("broken")
				}
				return Result{}, nil
			}}, nil
		}, Config{})
		for _, key := range []string{"a", "b", "c"} {
			l.Add(key)
		}
		stop := run(t, l)
		time.Sleep(1200 * time.Millisecond)
		l.Add("a") // while its Rest runs
		if busy := l.Busy(); !slices.Equal(busy, []string{"b"}) {
			t.Errorf("busy %q, want the pass of b without the rest of a", busy)
		}
		if err := l.Stuck(time.Second); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("Stuck %v, want the pass of a, whose rest lasts", err)
		}
		time.Sleep(1500 * time.Millisecond)
		// The worker itself runs the Rest of key "b", because the Rest of key "a" still
		// runs.
		mu.Lock()
		first := slices.Sorted(slices.Values(log))
		mu.Unlock()
		if diff := cmp.Diff([]string{"0s pass a", "1s pass b", "1s rest a", "2s rest b"}, first); diff != "" {
			t.Errorf("until the rest of a ends (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
		stop()
		count := map[string]int{}
		for _, line := range log {
			_, what, _ := strings.Cut(line, " ")
			count[what]++
		}
		if diff := cmp.Diff(map[string]int{"pass a": 2, "rest a": 2, "pass b": 2, "rest b": 2, "pass c": 1, "rest c": 1}, count); diff != "" {
			t.Errorf("in all (-want +got):\n%s", diff)
		}
	})
}

func TestRunWaitsForTheRestOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		l := New("test", func(context.Context, string) (Result, error) {
			return Result{Rest: func(ctx context.Context) (Result, error) {
				<-ctx.Done()
				time.Sleep(5 * time.Second) // This stands for a slow write.
				ended = true
				return Result{}, nil
			}}, nil
		}, Config{})
		stop := run(t, l)
		l.Add("a")
		synctest.Wait()
		if stop(); !ended {
			t.Error("Run has returned before the rest of a pass")
		}
	})
}

func TestRunWaitsForThePassInFlightAndTakesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		l := New("test", func(ctx context.Context, key string) (Result, error) {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // This stands for a slow write.
			ended = append(ended, key)
			return Result{}, nil
		}, Config{})
		stop := run(t, l)
		l.Add("a")
		synctest.Wait()
		l.Add("b")
		stop()
		if diff := cmp.Diff([]string{"a"}, ended); diff != "" {
			t.Errorf("passes (-want +got):\n%s", diff)
		}
	})
}

func TestStuckNamesTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := New("test", func(context.Context, string) (Result, error) {
			<-release
			return Result{}, nil
		}, Config{})
		defer run(t, l)()
		l.Add("a")
		time.Sleep(time.Minute)
		if err := l.Stuck(2 * time.Minute); err != nil {
			t.Errorf("after one minute of two: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if err := l.Stuck(2 * time.Minute); err == nil {
			t.Error("a pass of three minutes is not reported")
		}
		close(release)
		synctest.Wait()
		if err := l.Stuck(time.Second); err != nil {
			t.Errorf("after the pass has ended: %v", err)
		}
	})
}

func TestKeysWithHighPriorityGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		l := New("test", func(_ context.Context, key string) (Result, error) {
			order = append(order, key)
			time.Sleep(time.Minute)
			return Result{}, nil
		}, Config{})
		defer run(t, l)()
		l.Add("first")
		synctest.Wait()
		for _, key := range []string{"low-1", "low-2", "low-3"} {
			l.AddWithPriority(key, Low)
		}
		l.Add("high")
		l.Add("low-3") // raises the priority of low-3
		l.AddWithPriority("high", Low)
		if diff := cmp.Diff([]string{"first"}, l.Busy()); diff != "" {
			t.Errorf("busy (-want +got):\n%s", diff)
		}
		time.Sleep(30 * time.Second)
		queued := time.Now().Add(-30 * time.Second)
		want := []Waiting{{"high", queued}, {"low-1", queued}, {"low-2", queued}, {"low-3", queued}}
		if diff := cmp.Diff(want, l.Waiting(20*time.Second)); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		if got := l.Waiting(time.Minute); got != nil {
			t.Errorf("waiting for longer than they are there: %v", got)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"first", "high", "low-3", "low-1", "low-2"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestRequestsDuringAPassKeepTheirPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		l := New("test", func(_ context.Context, key string) (Result, error) {
			order = append(order, key)
			time.Sleep(time.Minute)
			return map[string]Result{
				"edited": {After: time.Hour}, "awaited": {After: 210 * time.Second, HighPriority: true}, "refreshed": {After: time.Second}, "failing": {Retry: true},
			}[key], nil
		}, Config{})
		stop := run(t, l)
		for _, key := range []string{"edited", "awaited", "refreshed", "failing"} {
			l.Add(key)
		}
		synctest.Wait()
		for n := range 9 {
			l.AddWithPriority(fmt.Sprint("low-", n), Low)
		}
		l.Add("edited") // during its pass
		l.AddWithPriority("awaited", Low)
		time.Sleep(4*time.Minute + 30*time.Second)
		l.AddWithPriority("awaited", Low) // does not lower the priority of "awaited"
		time.Sleep(5 * time.Minute)
		stop()
		if diff := cmp.Diff([]string{"edited", "awaited", "refreshed", "low-0", "failing", "edited", "low-1", "awaited", "failing", "low-2"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// A key with low priority gets a worker even if keys with high priority are added
// all the time.
func TestLowPriorityHasAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var l *Loop
		l = New("test", func(_ context.Context, key string) (Result, error) {
			order = append(order, key)
			if key == "edited" {
				l.Add(key) // As if somebody had changed the object during the pass.
			}
			time.Sleep(time.Second)
			return Result{}, nil
		}, Config{})
		stop := run(t, l)
		l.Add("edited")
		synctest.Wait()
		for n := range 5 {
			l.AddWithPriority(fmt.Sprint("low-", n), Low)
		}
		time.Sleep(time.Minute)
		stop()
		for n := range 5 {
			at := slices.Index(order, fmt.Sprint("low-", n))
			if bound := lowEvery * (n + 1); at < 0 || at > bound {
				t.Errorf("low-%d was pass %d of %v, want pass %d at the latest", n, at, order, bound)
			}
		}
		if slices.Index(order, "low-0") < lowEvery-1 {
			t.Errorf("order %v, want high priority to go first", order)
		}
	})
}

// A namespace with many keys does not delay the keys of other namespaces with the
// same priority.
func TestNamespacesTakeTurns(t *testing.T) {
	for _, p := range []Priority{High, Low} {
		q := newPriorityQueue(clock.RealClock{})
		push := func(key string) { q.request(key, p); q.Push(key) }
		for n := range 100 {
			push(fmt.Sprint("many/", n))
		}
		for _, key := range []string{"few/1", "few/2", "one/1", "node"} {
			push(key)
		}
		var order []string
		for range 8 {
			order = append(order, q.Pop())
		}
		want := []string{"many/0", "few/1", "one/1", "node", "many/1", "few/2", "many/2", "many/3"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("priority %v: order (-want +got):\n%s", p, diff)
		}
	}
}

// In any sequence of operations, each key that was added is taken once.
func TestQueueLosesNoKey(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		q := newPriorityQueue(clock.RealClock{})
		waiting := map[string]bool{}
		for range 500 {
			key := fmt.Sprintf("%d/%d", random.IntN(3), random.IntN(5))
			switch {
			case random.IntN(2) == 0 && q.Len() > 0:
				if key = q.Pop(); !waiting[key] {
					t.Fatalf("seed %d: %s is taken and was not added", seed, key)
				}
				delete(waiting, key)
			default:
				q.request(key, Priority(random.IntN(2)))
				if waiting[key] {
					q.Touch(key)
				} else {
					q.Push(key)
				}
				waiting[key] = true
			}
			if q.Len() != len(waiting) {
				t.Fatalf("seed %d: %d keys wait, want %d", seed, q.Len(), len(waiting))
			}
		}
	}
}

// RunAs makes its passes with its argument, and never with the Reconcile that New got.
func TestRunAsMakesOtherPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []string
		l := New("test", func(_ context.Context, key string) (Result, error) {
			t.Errorf("a pass was made over %q", key)
			return Result{}, nil
		}, Config{})
		l.Add("a")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- l.RunAs(ctx, func(_ context.Context, key string) (Result, error) {
				looks = append(looks, key)
				return Result{After: time.Minute}, nil
			})
		}()
		time.Sleep(90 * time.Second)
		cancel()
		if err := <-done; err != nil || !slices.Equal(looks, []string{"a", "a"}) {
			t.Errorf("looks at %q, error %v", looks, err)
		}
	})
}

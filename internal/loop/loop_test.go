package loop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
		l.Add("low-3") // raises its priority
		l.AddWithPriority("high", Low)
		if diff := cmp.Diff([]string{"first"}, l.Busy()); diff != "" {
			t.Errorf("busy (-want +got):\n%s", diff)
		}
		time.Sleep(30 * time.Second)
		queued := time.Now().Add(-30 * time.Second)
		want := []Waiting{{"high", queued}, {"low-3", queued}, {"low-1", queued}, {"low-2", queued}}
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
		l.AddWithPriority("awaited", Low) // does not lower its priority
		time.Sleep(5 * time.Minute)
		stop()
		if diff := cmp.Diff([]string{"edited", "awaited", "refreshed", "failing", "edited", "failing", "awaited", "failing", "low-0", "failing"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

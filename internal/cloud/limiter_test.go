package cloud

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// quota is a cloud with a token bucket.
type quota struct {
	mu        sync.Mutex
	rate      float64
	burst     float64
	tokens    float64
	last      time.Time
	allowed   int
	throttled int
}

func (q *quota) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.tokens = min(q.tokens+now.Sub(q.last).Seconds()*q.rate, q.burst)
	q.last = now
	if q.tokens < 1 {
		q.throttled++
		return false
	}
	q.tokens--
	q.allowed++
	return true
}

func TestNoCallStartsBeforeTheTimeThatTheCloudNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), 20*time.Second)
		start := time.Now()
		if err := l.wait(t.Context(), highPriority); err != nil || time.Since(start) < 20*time.Second {
			t.Errorf("waited %v, %v, want the pause of 20 s", time.Since(start), err)
		}
	})
}

// If the cloud has not answered for some seconds, it might be down. So only a few
// calls begin at the same time.
func TestFewCallsBeginAfterARest(t *testing.T) {
	for _, tt := range []struct {
		rest     time.Duration
		underWay int
		want     int32
	}{{time.Second, 0, firstCalls}, {3 * time.Second, 0, coldCalls}, {3 * time.Second, 1, firstCalls - 1}, {11 * time.Second, 1, coldCalls - 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := &limiter{}
			for range firstCalls {
				l.succeeded(0, "n")
			}
			ctx, cancel := context.WithCancel(t.Context())
			var begun atomic.Int32
			var all sync.WaitGroup
			for range tt.underWay {
				if err := l.wait(ctx, highPriority); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(tt.rest)
			for range firstCalls {
				all.Go(func() {
					if l.wait(ctx, highPriority) == nil {
						begun.Add(1)
					}
				})
			}
			synctest.Wait()
			if got := begun.Load(); got != tt.want {
				t.Errorf("%v after a success, with %d calls under way, %d calls begin, want %d", tt.rest, tt.underWay, got, tt.want)
			}
			cancel()
			all.Wait()
		})
	}
}

func TestHighPriorityGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), time.Second)
		var mu sync.Mutex
		var order []priority
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				p := []priority{lowPriority, highPriority}[n%2]
				if err := l.wait(t.Context(), p); err != nil {
					t.Error(err)
				}
				defer l.ended()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, p)
			})
		}
		all.Wait()
		for n, p := range order {
			if want := map[bool]priority{true: highPriority, false: lowPriority}[n < 10]; p != want {
				t.Fatalf("order %v, want all with high priority first", order)
			}
		}
	})
}

func TestCallsThrottledTogetherDecreaseTheRateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		start := time.Now()
		for range 100 {
			l.succeeded(0, "n")
		}
		time.Sleep(10 * time.Millisecond)
		for range 16 {
			l.throttled(start.Add(time.Millisecond), time.Second)
		}
		if got := l.callsPerSecond(); got != 70 {
			t.Errorf("rate %v after 100 calls in a second, of which 16 were throttled together, want 70", got)
		}
	})
}

func TestLimitEndsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), time.Second)
		time.Sleep(unlimitedAfter + time.Second)
		l.succeeded(0, "n")
		if got := l.callsPerSecond(); got != 0 {
			t.Errorf("rate %v, want no limit", got)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.wait(ctx, highPriority); err == nil {
			t.Error("the pause of an hour is over after a second")
		}
	})
}

func TestOneThrottledCallWhileIdleCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), time.Second)
		start := time.Now()
		for range 1000 {
			if err := l.wait(t.Context(), highPriority); err != nil {
				t.Fatal(err)
			}
			l.ended()
			l.succeeded(0, "n")
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("1,000 calls after one refusal took %v, want less than a minute", took)
		}
	})
}

func TestPauseOfADayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{}
		l.throttled(time.Now(), 24*time.Hour)
		l.unavailable(24 * time.Hour)
		start := time.Now()
		if err := l.wait(t.Context(), highPriority); err != nil || time.Since(start) > maxPause {
			t.Errorf("waited %v, %v, want at most %v", time.Since(start), err, maxPause)
		}
	})
}

// The cloud can ask for a pause when it throttles a call, or when it is
// unavailable.
func TestPauseBeforeTheNextCall(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*limiter)
		want time.Duration
	}{
		{"ThrottledWithAPause", func(l *limiter) { l.throttled(time.Now(), 20*time.Second) }, 20 * time.Second},
		{"ThrottledWithoutAPauseWaitsTheDefault", func(l *limiter) { l.throttled(time.Now(), 0) }, defaultPause},
		{"UnavailableWithAPause", func(l *limiter) { l.unavailable(20 * time.Second) }, 20 * time.Second},
		{"UnavailableWithoutAPauseDoesNotWait", func(l *limiter) { l.unavailable(0) }, 0},
		{"ShorterPauseDoesNotEndALongerOne", func(l *limiter) { l.unavailable(20 * time.Second); l.throttled(time.Now(), time.Second) }, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &limiter{}
				tt.then(l)
				start := time.Now()
				if err := l.wait(t.Context(), highPriority); err != nil || time.Since(start) != tt.want {
					t.Errorf("waited %v, %v, want %v", time.Since(start), err, tt.want)
				}
			})
		})
	}
}

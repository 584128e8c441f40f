package scenario

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// sampler reads the cloud's counters and the daemon's memory once a second.
type sampler struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	samples []report.Sample // used only by the sampler's goroutine until that goroutine has ended
}

// sample starts a sampler, which runs until stop is called.
func (t *trial) sample(ctx context.Context) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{cancel: cancel}
	began := t.clock.Now()
	s.running.Go(func() {
		tick := t.clock.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C():
			case <-ctx.Done():
				return
			}
			calls, err := t.cloud.Calls(ctx)
			if err != nil { // Counters only grow, so the next sample includes the calls of this one.
				continue
			}
			now := report.Sample{Seconds: t.clock.Since(began).Seconds(), Calls: int(calls.Count()), Refused: refused(calls), MemoryBytes: t.resident()}
			s.samples = append(s.samples, now)
		}
	})
	return s
}

// stop ends the sampler and returns its samples. A nil sampler has none.
func (s *sampler) stop() []report.Sample {
	if s == nil {
		return nil
	}
	s.cancel()
	s.running.Wait()
	return s.samples
}

// resident returns the memory of the largest running daemon.
func (t *trial) resident() int64 {
	t.mu.Lock()
	daemons := t.daemons
	t.mu.Unlock()
	var largest int64
	for _, d := range daemons {
		if u, err := d.Usage(); err == nil { // A daemon that has just ended has no memory.
			largest = max(largest, u.Resident)
		}
	}
	return largest
}

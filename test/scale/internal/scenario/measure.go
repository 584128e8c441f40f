package scenario

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// begin begins the measurement.
func (t *trial) begin(ctx context.Context) error {
	if err := t.cloud.ResetCalls(ctx); err != nil {
		return err
	}
	audit, err := t.plane.Mark()
	if err != nil {
		return err
	}
	cpu, _, err := t.usage()
	t.began = mark{at: t.clock.Now(), audit: audit, cpu: cpu}
	t.series.stop()
	t.series = t.sample(ctx)
	return err
}

// usage returns the CPU time of all daemons together, and the peak memory of the largest
// one.
func (t *trial) usage() (cpu time.Duration, peak int64, err error) {
	for _, d := range t.daemons {
		u, err := d.Usage()
		if err != nil {
			return 0, 0, err
		}
		cpu += u.CPU
		peak = max(peak, u.Peak)
	}
	return cpu, peak, nil
}

// calm waits until the daemon has written nothing to the API server for a while.
// After its work is done, the daemon may still write Events for a while.
func (t *trial) calm(ctx context.Context) error {
	const (
		quiet = 2 * time.Second
		most  = time.Minute // after this time, the measurement ends even if the daemon is not quiet
	)
	written, at := -1, t.clock.Now()
	deadline := at.Add(most)
	return t.poll(ctx, 2*most, func() error {
		requests, err := t.plane.Since(t.began.audit)
		if err != nil {
			return err
		}
		n := 0
		for _, count := range requests.Writes {
			n += count
		}
		if n != written {
			written, at = n, t.clock.Now()
		}
		if t.clock.Since(at) < quiet && t.clock.Now().Before(deadline) {
			return errors.New("the daemon still writes")
		}
		return nil
	})
}

// end ends the measurement, and fills the row with the numbers since begin.
func (t *trial) end(ctx context.Context) error {
	samples := t.series.stop()
	t.row.Seconds = t.clock.Since(t.began.at).Seconds()
	cpu, peak, err := t.usage()
	if err != nil {
		return err
	}
	t.row.CPUSeconds, t.row.PeakBytes = (cpu - t.began.cpu).Seconds(), peak
	calls, err := t.cloud.Calls(ctx)
	if err != nil {
		return err
	}
	t.count(calls)
	t.row.Series = report.NewSeries(append(samples, report.Sample{
		Seconds: t.row.Seconds, Calls: t.row.Calls(), Refused: t.row.Throttled, MemoryBytes: t.resident(),
	}))
	requests, err := t.plane.Since(t.began.audit)
	if err != nil {
		return err
	}
	t.row.APIWrites, t.row.APIReads = requests.Writes, requests.Reads
	t.row.APIRefused, t.row.Events = requests.Refused, requests.Events
	alive, err := t.alive(ctx)
	if err != nil {
		return err
	}
	deleted := map[string]bool{} // A Node counts once, even if several requests delete it.
	for _, name := range requests.DeletedNodes {
		if alive[name] {
			deleted[name] = true
		}
	}
	t.row.HealthyNodesDeleted = len(deleted)
	return t.failure()
}

// alive returns the names of all instances that are not terminated.
func (t *trial) alive(ctx context.Context) (map[string]bool, error) {
	all, err := t.cloud.Instances(ctx)
	alive := map[string]bool{}
	for _, i := range all {
		if i.State != simulator.Terminated {
			alive[i.Name] = true
		}
	}
	return alive, err
}

func (t *trial) count(calls simulator.CallReport) {
	t.row.CloudCalls = map[string]map[string]int{}
	t.row.Throttled = refused(calls)
	for _, c := range calls.Counters {
		results := t.row.CloudCalls[string(c.Call)]
		if results == nil {
			results = map[string]int{}
			t.row.CloudCalls[string(c.Call)] = results
		}
		results[c.Result] += int(c.Count)
	}
}

// refused returns the number of calls that the quota refused.
func refused(calls simulator.CallReport) int {
	n := 0
	for _, c := range calls.Counters {
		if c.Result == simulator.CodeThrottled {
			n += int(c.Count)
		}
	}
	return n
}

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

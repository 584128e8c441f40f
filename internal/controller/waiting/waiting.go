// Package waiting has metrics of the objects that wait: the number of objects for
// each reason, and the longest time for which an object has waited.
package waiting

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

// Gauges are two metrics about the waiting objects of one controller: the number of
// objects for each reason, and the longest time for which an object has waited. The
// controller reports its waiting objects with Set and Delete. The gauges are empty
// while no controller runs.
type Gauges struct {
	metrics.BaseStableCollector

	count, oldest *metrics.Desc
	clock         clock.PassiveClock

	mu      sync.Mutex
	running bool            // guarded by mu
	waits   map[string]wait // by key; guarded by mu
}

// wait is one object that waits.
type wait struct {
	reason string
	since  time.Time
}

// Metric names and explains one metric.
type Metric struct{ Name, Help string }

// New returns gauges. The first metric counts the waiting objects and has the label
// "reason". The second one is the longest wait in seconds. The caller has to register
// the gauges.
func New(count, oldest Metric, c clock.PassiveClock) *Gauges {
	return &Gauges{
		count:  metrics.NewDesc(count.Name, count.Help, []string{"reason"}, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc(oldest.Name, oldest.Help, nil, nil, metrics.ALPHA, ""),
		clock:  c,
		waits:  map[string]wait{},
	}
}

// Start makes the gauges visible. The function stop hides them again, and forgets the
// waiting objects.
func (g *Gauges) Start() (stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running = false
		clear(g.waits)
	}
}

// Set records that the object with this key waits.
func (g *Gauges) Set(key, reason string, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits[key] = wait{reason, since}
}

// Delete records that the object with this key does not wait any more.
func (g *Gauges) Delete(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waits, key)
}

// DescribeWithStability implements metrics.StableCollector.
func (g *Gauges) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- g.count
	ch <- g.oldest
}

// CollectWithStability implements metrics.StableCollector.
func (g *Gauges) CollectWithStability(ch chan<- metrics.Metric) {
	byReason, oldest, running := g.read()
	if !running {
		return
	}
	for reason, count := range byReason {
		ch <- metrics.NewLazyConstMetric(g.count, metrics.GaugeValue, float64(count), reason)
	}
	ch <- metrics.NewLazyConstMetric(g.oldest, metrics.GaugeValue, oldest.Seconds())
}

func (g *Gauges) read() (byReason map[string]int, oldest time.Duration, running bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	byReason = map[string]int{}
	for _, w := range g.waits {
		byReason[w.reason]++
		oldest = max(oldest, g.clock.Since(w.since))
	}
	return byReason, oldest, g.running
}

package node

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
)

// Metrics are the measurements of the controller. They outlive it: the waiting
// Nodes are those of the controller that runs, if one does.
type Metrics struct {
	metrics.BaseStableCollector

	taintRemoval, initialSync *metrics.Histogram
	waiting                   *metrics.Desc
	oldest                    *metrics.Desc

	mu         sync.Mutex
	controller *Controller // nil: none runs; guarded by mu
}

// NewMetrics returns metrics that count once both functions have seen them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.taintRemoval, m.initialSync)
	collect(m)
	return m
}

func newMetrics() *Metrics {
	// Upstream's histograms: names and buckets are wire facts.
	delay := func(name, help string) *metrics.Histogram {
		return metrics.NewHistogram(&metrics.HistogramOpts{
			Subsystem:      "node_controller",
			Name:           name,
			Help:           help,
			Buckets:        metrics.ExponentialBuckets(1, 4, 6),
			StabilityLevel: metrics.ALPHA,
		})
	}
	return &Metrics{
		taintRemoval: delay("cloud_provider_taint_removal_delay_seconds", "Age of a Node when its uninitialized taint was removed"),
		initialSync:  delay("initial_node_sync_delay_seconds", "Age of a Node when it was initialised"),
		waiting: metrics.NewDesc("fairlead_nodes_waiting", "Nodes that wait to be initialised, by the reason that their events name",
			[]string{"reason"}, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc("fairlead_nodes_waiting_oldest_seconds", "How long the Node that has waited longest to be initialised has waited",
			nil, nil, metrics.ALPHA, ""),
	}
}

// DescribeWithStability is part of metrics.StableCollector.
func (m *Metrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- m.waiting
	ch <- m.oldest
}

// CollectWithStability is part of metrics.StableCollector.
func (m *Metrics) CollectWithStability(ch chan<- metrics.Metric) {
	m.mu.Lock()
	controller := m.controller
	m.mu.Unlock()
	if controller == nil {
		return
	}
	byReason, oldest := controller.waitingNow()
	for reason, count := range byReason {
		ch <- metrics.NewLazyConstMetric(m.waiting, metrics.GaugeValue, float64(count), reason)
	}
	ch <- metrics.NewLazyConstMetric(m.oldest, metrics.GaugeValue, oldest.Seconds())
}

func (m *Metrics) watch(c *Controller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controller = c
}

// released counts a Node that was initialised at this age. Taint and the rest
// go in one write, so both of upstream's measures are the same.
func (m *Metrics) released(age time.Duration) {
	m.taintRemoval.Observe(age.Seconds())
	m.initialSync.Observe(age.Seconds())
}

// waitingNow counts the Nodes that wait, and says how long the first of them
// has.
func (c *Controller) waitingNow() (byReason map[string]int, oldest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byReason = map[string]int{}
	for _, m := range c.memories {
		if !m.waitsSince.IsZero() {
			byReason[m.waitsFor]++
			oldest = max(oldest, c.clock.Since(m.waitsSince))
		}
	}
	return byReason, oldest
}

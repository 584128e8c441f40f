package nodelifecycle

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Metrics are the measurements of the controller that removes Nodes.
// They outlive it, as Metrics do.
type Metrics struct {
	metrics.BaseStableCollector

	duration *metrics.Histogram
	calls    *metrics.CounterVec
	deleted  *metrics.Counter
	held     *metrics.Desc
	oldest   *metrics.Desc

	mu         sync.Mutex
	controller *Controller // nil: none runs; guarded by mu
}

// NewMetrics returns metrics that count once both functions have seen
// them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.duration, m.calls, m.deleted)
	collect(m)
	return m
}

func newMetrics() *Metrics {
	const subsystem = "cloud_node_lifecycle_controller"
	return &Metrics{
		// Upstream's: names, labels and buckets are wire facts.
		duration: metrics.NewHistogram(&metrics.HistogramOpts{
			Subsystem:      subsystem,
			Name:           "monitor_nodes_duration_seconds",
			Help:           "Time for which the cloud was asked about one silent Node",
			Buckets:        metrics.ExponentialBuckets(0.001, 2, 15),
			StabilityLevel: metrics.ALPHA,
		}),
		calls: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem:      subsystem,
			Name:           "cloud_provider_calls_total",
			Help:           "Questions to the cloud provider about silent Nodes by operation and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation", "result"}),
		deleted: metrics.NewCounter(&metrics.CounterOpts{
			Name:           "fairlead_node_deletions_total",
			Help:           "Nodes deleted since their instances are gone",
			StabilityLevel: metrics.ALPHA,
		}),
		held: metrics.NewDesc("fairlead_node_deletions_held", "Silent Nodes that are not deleted, by the reason that their events name",
			[]string{"reason"}, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc("fairlead_node_deletions_held_oldest_seconds", "How long the silent Node that has been kept for the longest time has been",
			nil, nil, metrics.ALPHA, ""),
	}
}

// operation is a question as upstream's counter names it.
type operation string

const (
	callExists   operation = "instance_exists"
	callShutdown operation = "instance_shutdown"
)

func (m *Metrics) called(o operation, err error) {
	result := "error"
	switch cloud.KindOf(err) { //nolint:exhaustive // upstream's label knows no more
	case cloud.Succeeded:
		result = "success"
	case cloud.NotFound:
		result = "instance_not_found"
	case cloud.NotImplemented:
		result = "not_implemented"
	case cloud.Canceled:
		result = "canceled"
	}
	m.calls.WithLabelValues(string(o), result).Inc()
}

func (m *Metrics) looked(d time.Duration) { m.duration.Observe(d.Seconds()) }

// DescribeWithStability is part of metrics.StableCollector.
func (m *Metrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- m.held
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
	byReason, oldest := controller.heldNow()
	for reason, count := range byReason {
		ch <- metrics.NewLazyConstMetric(m.held, metrics.GaugeValue, float64(count), reason)
	}
	ch <- metrics.NewLazyConstMetric(m.oldest, metrics.GaugeValue, oldest.Seconds())
}

func (m *Metrics) watch(l *Controller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controller = l
}

// heldNow counts the Nodes whose deletion is held, and says how long the first
// of them has been.
func (l *Controller) heldNow() (byReason map[string]int, oldest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	byReason = map[string]int{}
	for _, m := range l.memories {
		if m.holding.reason != "" {
			byReason[m.holding.reason]++
			oldest = max(oldest, l.clock.Since(m.holding.since))
		}
	}
	return byReason, oldest
}

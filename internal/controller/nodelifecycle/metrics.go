package nodelifecycle

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// Metrics are the metrics of the controller. They outlive it.
type Metrics struct {
	duration *metrics.Histogram
	calls    *metrics.CounterVec
	deleted  *metrics.Counter
	held     *waiting.Gauges
}

// NewMetrics returns the controller's metrics. It registers them with the functions
// register and collect.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics(clock.RealClock{})
	register(m.duration, m.calls, m.deleted)
	collect(m.held)
	return m
}

func newMetrics(c clock.PassiveClock) *Metrics {
	const subsystem = "cloud_node_lifecycle_controller"
	return &Metrics{
		// The first two metrics have upstream's names, labels and buckets, because
		// dashboards rely on them.
		duration: metrics.NewHistogram(&metrics.HistogramOpts{
			Subsystem:      subsystem,
			Name:           "monitor_nodes_duration_seconds",
			Help:           "How long the daemon asked the cloud about one silent Node",
			Buckets:        metrics.ExponentialBuckets(0.001, 2, 15),
			StabilityLevel: metrics.ALPHA,
		}),
		calls: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem:      subsystem,
			Name:           "cloud_provider_calls_total",
			Help:           "Questions to the cloud provider about silent Nodes, by operation and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation", "result"}),
		deleted: metrics.NewCounter(&metrics.CounterOpts{
			Name:           "fairlead_node_deletions_total",
			Help:           "Nodes deleted because their instances no longer exist",
			StabilityLevel: metrics.ALPHA,
		}),
		held: waiting.New(
			waiting.Metric{Name: "fairlead_node_deletions_held", Help: "Silent Nodes that are not deleted, by the reason in their events"},
			waiting.Metric{Name: "fairlead_node_deletions_held_oldest_seconds", Help: "Longest time that a silent Node has been kept"}, c),
	}
}

// operation names the kind of a question. It is a label of upstream's counter.
type operation string

const (
	callExists   operation = "instance_exists"
	callShutdown operation = "instance_shutdown"
)

// called counts a question. The kind of an answer that denies the instance is NotFound, as
// that of the error.
func (m *Metrics) called(o operation, kind cloud.Kind) {
	result := "error"
	switch kind { //nolint:exhaustive // upstream's label has no other values
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

func (m *Metrics) asked(d time.Duration) { m.duration.Observe(d.Seconds()) }

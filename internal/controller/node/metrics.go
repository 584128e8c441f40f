package node

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// Metrics are the metrics of the controller. They outlive it.
type Metrics struct {
	taintRemoval, initialSync *metrics.Histogram
	waiting                   *waiting.Gauges
	owners                    *owners
}

// NewMetrics returns the controller's metrics. It registers them with the functions
// register and collect.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics(clock.RealClock{})
	register(m.taintRemoval, m.initialSync, m.owners.gauge)
	collect(m.waiting)
	return m
}

func newMetrics(c clock.PassiveClock) *Metrics {
	// The histograms have upstream's names and buckets, because dashboards rely on
	// them.
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
		owners:       newOwners(),
		taintRemoval: delay("cloud_provider_taint_removal_delay_seconds", "Age of a Node when its uninitialized taint was removed"),
		initialSync:  delay("initial_node_sync_delay_seconds", "Age of a Node when it was initialised"),
		waiting: waiting.New(
			waiting.Metric{Name: "fairlead_nodes_waiting", Help: "Nodes that wait to be initialised, by the reason in their events"},
			waiting.Metric{Name: "fairlead_nodes_waiting_oldest_seconds", Help: "Longest time that a Node has waited to be initialised"}, c),
	}
}

// released records the age at which a Node was initialised. One write removes the taint
// and sets the rest, so both histograms of upstream get the same value.
func (m *Metrics) released(age time.Duration) {
	m.taintRemoval.Observe(age.Seconds())
	m.initialSync.Observe(age.Seconds())
}

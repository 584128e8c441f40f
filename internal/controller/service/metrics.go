package service

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// Metrics are the metrics of the controller. They outlive the controller.
type Metrics struct {
	updates      *metrics.Counter
	updateErrors *metrics.Counter
	hostLatency  *metrics.Histogram
	nodeLatency  *metrics.Histogram

	duration *metrics.HistogramVec
	errors   *metrics.CounterVec
	backends *metrics.GaugeVec // has no labels; empty while no controller runs
	waiting  *waiting.Gauges
}

// NewMetrics returns metrics and registers them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.updates, m.updateErrors, m.hostLatency, m.nodeLatency, m.duration, m.errors, m.backends)
	collect(m.waiting)
	return m
}

func newMetrics() *Metrics {
	const subsystem = "service_controller"
	latency := func(name, help string) *metrics.Histogram {
		return metrics.NewHistogram(&metrics.HistogramOpts{
			Subsystem: subsystem, Name: name, Help: help, Buckets: metrics.ExponentialBuckets(1, 2, 15), StabilityLevel: metrics.ALPHA,
		})
	}
	count := func(name, help string) *metrics.Counter {
		return metrics.NewCounter(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
	}
	return &Metrics{
		// These four metrics have the same names and buckets as upstream's. Like
		// upstream's, they count only updates.
		updates:      count("loadbalancer_sync_total", "Updates of the nodes behind a load balancer"),
		updateErrors: count("nodesync_error_total", "Failed updates of the nodes behind a load balancer"),
		hostLatency:  latency("update_loadbalancer_host_latency_seconds", "Time that the cloud took to update the nodes behind one load balancer"),
		nodeLatency:  latency("nodesync_latency_seconds", "Time from the moment that the daemon knew a new set of nodes until one load balancer had this set"),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "fairlead_load_balancer_call_duration_seconds",
			Help:           "Time that the cloud took for one Service, by step",
			Buckets:        metrics.ExponentialBuckets(0.02, 3, 10), // 20 ms to 6.5 min
			StabilityLevel: metrics.ALPHA,
		}, []string{"step"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_load_balancer_errors_total",
			Help:           "Failed calls about load balancers, by step and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"step", "result"}),
		backends: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name: "fairlead_load_balancer_backends", Help: "Nodes that belong behind the load balancers", StabilityLevel: metrics.ALPHA,
		}, nil),
		waiting: waiting.New(
			waiting.Metric{
				Name: "fairlead_services_waiting",
				Help: "Services whose load balancer still has to be created, changed or deleted, by the reason in their condition, or Queued",
			},
			waiting.Metric{
				Name: "fairlead_services_waiting_oldest_seconds",
				Help: "Longest time that a Service has waited for its load balancer",
			}, clock.RealClock{}),
	}
}

// start makes the gauges visible. The returned function empties them.
func (m *Metrics) start() (stop func()) {
	ended := m.waiting.Start()
	return func() {
		ended()
		m.backends.Reset()
	}
}

// observeSet shows the size of the newest set of Nodes.
func (m *Metrics) observeSet(s nodeSet) {
	m.backends.WithLabelValues().Set(float64(len(s.nodes)))
}

// observeCall records a call to the provider. The parameter age is the age of the set of
// nodes in the call.
func (m *Metrics) observeCall(do action, call called, age time.Duration) {
	if do == update {
		m.updates.Inc()
		m.hostLatency.Observe(call.took.Seconds())
		m.nodeLatency.Observe(age.Seconds())
		if call.result == failed {
			m.updateErrors.Inc()
		}
	}
	m.duration.WithLabelValues(string(do)).Observe(call.took.Seconds())
	if call.result == failed {
		m.errors.WithLabelValues(string(do), string(cloud.KindOf(call.err))).Inc()
	}
}

package service

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Metrics are the measurements of the controller. They outlive it.
type Metrics struct {
	metrics.BaseStableCollector

	updates      *metrics.Counter
	updateErrors *metrics.Counter
	hostLatency  *metrics.Histogram
	nodeLatency  *metrics.Histogram

	duration *metrics.HistogramVec
	errors   *metrics.CounterVec
	waiting  *metrics.Desc
	oldest   *metrics.Desc
	hosts    *metrics.Desc

	mu         sync.Mutex
	controller *Controller // nil: none runs; guarded by mu
}

// NewMetrics returns metrics that count once both functions have seen them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.updates, m.updateErrors, m.hostLatency, m.nodeLatency, m.duration, m.errors)
	collect(m)
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
		// Upstream's: names and buckets are wire facts, and that only updates are
		// counted is one too.
		updates:      count("loadbalancer_sync_total", "Updates of the nodes behind a load balancer"),
		updateErrors: count("nodesync_error_total", "Updates of the nodes behind a load balancer that did not succeed"),
		hostLatency:  latency("update_loadbalancer_host_latency_seconds", "Time that the cloud took to update the nodes behind one load balancer"),
		nodeLatency:  latency("nodesync_latency_seconds", "Time from the moment that a set of nodes was known until one load balancer had it"),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "fairlead_load_balancer_call_duration_seconds",
			Help:           "Time that the cloud took for one Service by step",
			Buckets:        metrics.ExponentialBuckets(0.02, 3, 10), // 20 ms to 6.5 min
			StabilityLevel: metrics.ALPHA,
		}, []string{"step"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_load_balancer_errors_total",
			Help:           "Calls about load balancers that did not succeed by step and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"step", "result"}),
		waiting: metrics.NewDesc("fairlead_services_waiting", "Services whose load balancer is not in line, by the reason that their condition names, or Queued",
			[]string{"reason"}, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc("fairlead_services_waiting_oldest_seconds", "How long the Service that has waited longest for its load balancer has waited",
			nil, nil, metrics.ALPHA, ""),
		hosts: metrics.NewDesc("fairlead_load_balancer_backends", "Nodes in the set behind all load balancers", nil, nil, metrics.ALPHA, ""),
	}
}

// called counts a call that took some time. The age is that of the set of nodes
// that was handed on.
func (m *Metrics) called(s step, took, age time.Duration, err error) {
	if s == update {
		m.updates.Inc()
		m.hostLatency.Observe(took.Seconds())
		m.nodeLatency.Observe(age.Seconds())
		if err != nil {
			m.updateErrors.Inc()
		}
	}
	m.duration.WithLabelValues(s.String()).Observe(took.Seconds())
	if err != nil {
		m.errors.WithLabelValues(s.String(), string(cloud.KindOf(err))).Inc()
	}
}

// DescribeWithStability is part of metrics.StableCollector.
func (m *Metrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- m.waiting
	ch <- m.oldest
	ch <- m.hosts
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
	ch <- metrics.NewLazyConstMetric(m.hosts, metrics.GaugeValue, float64(len(controller.backends.newest().nodes)))
}

func (m *Metrics) watch(c *Controller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controller = c
}

// waitingNow counts the Services that wait after a failure or behind others, and
// says how long the first of them has.
func (c *Controller) waitingNow() (byReason map[string]int, oldest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byReason = map[string]int{}
	for _, m := range c.memories {
		if m.failure.count > 0 {
			byReason[m.failure.reason]++
			oldest = max(oldest, c.clock.Since(m.failure.since))
		}
	}
	for _, since := range c.queued {
		byReason["Queued"]++
		oldest = max(oldest, c.clock.Since(since))
	}
	return byReason, oldest
}

package route

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Metrics are the measurements of the controller. They outlive it.
type Metrics struct {
	metrics.BaseStableCollector

	syncs    *metrics.CounterVec
	duration *metrics.HistogramVec
	errors   *metrics.CounterVec
	wanted   *metrics.Desc
	present  *metrics.Desc
	missing  *metrics.Desc
	held     *metrics.Desc
	strange  *metrics.Desc
	oldest   *metrics.Desc

	mu         sync.Mutex
	controller *Controller // nil: none runs; guarded by mu
	last       plan        // guarded by mu
}

// NewMetrics returns metrics that count once both functions have seen them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.syncs, m.duration, m.errors)
	collect(m)
	return m
}

func newMetrics() *Metrics {
	return &Metrics{
		// Upstream's: name and labels are wire facts.
		syncs: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem:      "route_controller",
			Name:           "route_sync_total",
			Help:           "Passes over the table of routes by what came of them and what they were made for",
			StabilityLevel: metrics.ALPHA,
		}, []string{"outcome", "trigger"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "fairlead_route_call_duration_seconds",
			Help:           "Time that the cloud took for one call about routes by operation",
			Buckets:        metrics.ExponentialBuckets(0.02, 3, 10), // 20 ms to 6.5 min
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_route_errors_total",
			Help:           "Calls about routes that did not succeed by operation and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation", "result"}),
		wanted:  metrics.NewDesc("fairlead_routes_wanted", "Pod CIDRs of nodes that need a route", nil, nil, metrics.ALPHA, ""),
		present: metrics.NewDesc("fairlead_routes_present", "Pod CIDRs of nodes that have their route", nil, nil, metrics.ALPHA, ""),
		missing: metrics.NewDesc("fairlead_routes_missing", "Pod CIDRs of nodes that have no route, by reason", []string{"reason"}, nil, metrics.ALPHA, ""),
		held:    metrics.NewDesc("fairlead_routes_held", "Routes that lead to no node and are not removed yet", nil, nil, metrics.ALPHA, ""),
		strange: metrics.NewDesc("fairlead_routes_unreadable", "Routes of the cloud whose destination is no CIDR; they are left alone", nil, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc("fairlead_routes_missing_oldest_seconds", "How long the route that has failed longest has",
			nil, nil, metrics.ALPHA, ""),
	}
}

// operation is a call about routes as metrics name it.
type operation string

const (
	callList   operation = "list"
	callCreate operation = "create"
	callDelete operation = "delete"
)

func (m *Metrics) called(o operation, took time.Duration, err error) {
	m.duration.WithLabelValues(string(o)).Observe(took.Seconds())
	if err != nil {
		m.errors.WithLabelValues(string(o), string(cloud.KindOf(err))).Inc()
	}
}

// trigger is what a pass is made for, as upstream's counter names it.
type trigger string

const (
	periodic   trigger = "periodic"
	nodeChange trigger = "node_change"
)

func (m *Metrics) synced(t trigger, p plan, blind bool) {
	outcome := "noop"
	switch {
	case blind:
		outcome = "error"
	case len(p.jobs) > 0:
		outcome = "changed"
	}
	m.syncs.WithLabelValues(outcome, string(t)).Inc()
}

// planned remembers what the newest plan says of the table.
func (m *Metrics) planned(p plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = plan{tally: p.tally, held: p.held}
}

// DescribeWithStability is part of metrics.StableCollector.
func (m *Metrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{m.wanted, m.present, m.missing, m.held, m.strange, m.oldest} {
		ch <- d
	}
}

// CollectWithStability is part of metrics.StableCollector.
func (m *Metrics) CollectWithStability(ch chan<- metrics.Metric) {
	m.mu.Lock()
	controller, last := m.controller, m.last
	m.mu.Unlock()
	if controller == nil {
		return
	}
	gauge := func(d *metrics.Desc, value float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value, labels...)
	}
	gauge(m.wanted, float64(last.tally.wanted))
	gauge(m.present, float64(last.tally.present))
	gauge(m.held, float64(len(last.held)))
	gauge(m.strange, float64(last.tally.unreadable))
	for reason, count := range last.tally.missing {
		gauge(m.missing, float64(count), reason)
	}
	gauge(m.oldest, controller.failingFor().Seconds())
}

func (m *Metrics) watch(c *Controller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controller = c
}

// failingFor is how long the route that has failed longest has.
func (c *Controller) failingFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := time.Duration(0)
	for _, f := range c.memory.failures {
		oldest = max(oldest, c.clock.Since(f.since))
	}
	return oldest
}

package route

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Metrics are the metrics of the controller. They outlive the controller. The
// controller passes in all values.
type Metrics struct {
	metrics.BaseStableCollector

	syncs      *metrics.CounterVec
	duration   *metrics.HistogramVec
	errors     *metrics.CounterVec
	wanted     *metrics.Desc
	present    *metrics.Desc
	missing    *metrics.Desc
	held       *metrics.Desc
	byBudget   *metrics.Desc
	unreadable *metrics.Desc
	oldest     *metrics.Desc

	mu     sync.Mutex
	clock  clock.PassiveClock // nil while no controller runs; guarded by mu
	counts counts             // of the last pass; guarded by mu
}

// NewMetrics returns metrics and registers them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics()
	register(m.syncs, m.duration, m.errors)
	collect(m)
	return m
}

func newMetrics() *Metrics {
	return &Metrics{
		// Upstream has the same name and labels. Dashboards rely on them.
		syncs: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem:      "route_controller",
			Name:           "route_sync_total",
			Help:           "Passes over the route table, by outcome and trigger",
			StabilityLevel: metrics.ALPHA,
		}, []string{"outcome", "trigger"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "fairlead_route_call_duration_seconds",
			Help:           "Duration of one call about routes by operation",
			Buckets:        metrics.ExponentialBuckets(0.02, 3, 10), // 20 ms to 6.5 min
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_route_errors_total",
			Help:           "Failed calls about routes, by operation and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation", "result"}),
		wanted:     metrics.NewDesc("fairlead_routes_wanted", "Pod CIDRs of nodes that need a route", nil, nil, metrics.ALPHA, ""),
		present:    metrics.NewDesc("fairlead_routes_present", "Pod CIDRs of nodes that have their route", nil, nil, metrics.ALPHA, ""),
		missing:    metrics.NewDesc("fairlead_routes_missing", "Pod CIDRs of nodes that have no route, by reason", []string{"reason"}, nil, metrics.ALPHA, ""),
		held:       metrics.NewDesc("fairlead_routes_held", "Stray routes that are not removed yet", nil, nil, metrics.ALPHA, ""),
		byBudget:   metrics.NewDesc("fairlead_routes_held_by_budget", "Stray routes that only the budget keeps", nil, nil, metrics.ALPHA, ""),
		unreadable: metrics.NewDesc("fairlead_routes_unreadable", "Routes whose destination is not a CIDR; they are kept", nil, nil, metrics.ALPHA, ""),
		oldest: metrics.NewDesc("fairlead_routes_missing_oldest_seconds", "Longest time for which changes of a route have been failing",
			nil, nil, metrics.ALPHA, ""),
	}
}

// operation is a kind of call about routes, as metrics and logs name it.
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

// trigger is the cause of a pass, as upstream's counter names it.
type trigger string

const (
	triggerPeriodic   trigger = "periodic"
	triggerNodeChange trigger = "node_change"
)

// outcome is the result of a pass, as upstream's counter names it.
type outcome string

const (
	outcomeNoop    outcome = "noop"
	outcomeChanged outcome = "changed"
	outcomeError   outcome = "error" // the cloud does not list its routes
)

// outcomeOf returns the outcome of a pass.
func outcomeOf(o observed, p plan) outcome {
	switch {
	case o.memory.listingFails():
		return outcomeError
	case len(p.jobs) > 0:
		return outcomeChanged
	default:
		return outcomeNoop
	}
}

func (m *Metrics) synced(o outcome, t trigger) { m.syncs.WithLabelValues(string(o), string(t)).Inc() }

// show shows the counts of a pass.
func (m *Metrics) show(c counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts = c
}

// start makes the gauges visible until stop is called.
func (m *Metrics) start(c clock.PassiveClock) (stop func()) {
	set := func(c clock.PassiveClock) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.clock, m.counts = c, counts{}
	}
	set(c)
	return func() { set(nil) }
}

// DescribeWithStability implements metrics.StableCollector.
func (m *Metrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{m.wanted, m.present, m.missing, m.held, m.byBudget, m.unreadable, m.oldest} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (m *Metrics) CollectWithStability(ch chan<- metrics.Metric) {
	m.mu.Lock()
	clock, last := m.clock, m.counts
	m.mu.Unlock()
	if clock == nil {
		return
	}
	gauge := func(d *metrics.Desc, value float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value, labels...)
	}
	gauge(m.wanted, float64(last.wanted))
	gauge(m.present, float64(last.present))
	gauge(m.held, float64(last.held))
	gauge(m.byBudget, float64(last.overBudget))
	gauge(m.unreadable, float64(last.unreadable))
	for reason, count := range last.missing {
		gauge(m.missing, float64(count), reason)
	}
	oldest := 0.0
	if !last.oldestFailure.IsZero() {
		oldest = clock.Since(last.oldestFailure).Seconds()
	}
	gauge(m.oldest, oldest)
}

package ipam

import (
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// Metrics are the metrics of the controller. They outlive the controller.
type Metrics struct {
	allocations, releases *metrics.CounterVec
	usage, size           *metrics.GaugeVec
	tries                 *metrics.HistogramVec
	atWork                *metrics.Gauge
	waiting               *waiting.Gauges
}

// NewMetrics returns metrics and registers them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics(clock.RealClock{})
	register(m.allocations, m.releases, m.usage, m.size, m.tries, m.atWork)
	collect(m.waiting)
	return m
}

// newMetrics returns the metrics. The first five have the same names as in
// kube-controller-manager, including a misspelling.
func newMetrics(c clock.PassiveClock) *Metrics {
	labels := []string{"clusterCIDR"}
	return &Metrics{
		allocations: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "node_ipam_controller_cidrset_cidrs_allocations_total", StabilityLevel: metrics.ALPHA,
			Help: "CIDRs of a --cluster-cidr that this daemon has taken, or has found on Nodes when it began to lead",
		}, labels),
		releases: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "node_ipam_controller_cidrset_cidrs_releases_total", StabilityLevel: metrics.ALPHA,
			Help: "CIDRs of a --cluster-cidr that were released because their Node is gone",
		}, labels),
		usage: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name: "node_ipam_controller_cidrset_usage_cidrs", StabilityLevel: metrics.ALPHA,
			Help: "Fraction of the CIDRs of a --cluster-cidr that is taken, between 0 and 1",
		}, labels),
		size: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name: "node_ipam_controller_cirdset_max_cidrs", StabilityLevel: metrics.ALPHA,
			Help: "How many Nodes can have a CIDR of a --cluster-cidr",
		}, labels),
		tries: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name: "node_ipam_controller_cidrset_allocation_tries_per_request", StabilityLevel: metrics.ALPHA,
			Help:    "Number of CIDRs that were checked to find a free one",
			Buckets: metrics.ExponentialBuckets(1, 5, 5),
		}, labels),
		atWork: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "fairlead_node_cidrs_other_allocator", StabilityLevel: metrics.ALPHA,
			Help: "1 while this daemon gives no CIDRs, because another allocator gives CIDRs to Nodes",
		}),
		waiting: waiting.New(
			waiting.Metric{Name: "fairlead_nodes_without_cidrs", Help: "Nodes that wait for the CIDRs of their pods, by reason"},
			waiting.Metric{Name: "fairlead_nodes_without_cidrs_oldest_seconds", Help: "Longest time that a Node has waited for the CIDRs of its pods"}, c),
	}
}

// start shows the pools and the waiting Nodes in the metrics until stop is called.
func (m *Metrics) start(l *ledger) (stop func()) {
	for _, p := range l.pools {
		m.size.WithLabelValues(p.Cluster.String()).Set(float64(len(p.holders)))
	}
	m.measure(l)
	hide := m.waiting.Start()
	return func() {
		hide()
		m.usage.Reset()
		m.size.Reset()
		m.atWork.Set(0)
	}
}

// measure adds to the metrics what has changed in the ledger since the last call of
// measure.
func (m *Metrics) measure(l *ledger) {
	for _, p := range l.pools {
		cluster := p.Cluster.String()
		m.allocations.WithLabelValues(cluster).Add(float64(p.tally.allocated))
		m.releases.WithLabelValues(cluster).Add(float64(p.tally.released))
		m.usage.WithLabelValues(cluster).Set(float64(p.taken) / float64(len(p.holders)))
		for _, n := range p.tally.tries {
			m.tries.WithLabelValues(cluster).Observe(float64(n))
		}
		p.tally = tally{}
	}
}

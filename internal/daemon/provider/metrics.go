package provider

import "k8s.io/component-base/metrics"

// Metrics count the changes of the provider's files by result. They also show
// whether the provider works with a configuration that differs from its files.
type Metrics struct {
	changes *metrics.CounterVec
	stale   *metrics.Gauge
}

// NewMetrics returns metrics and registers them with register.
func NewMetrics(register func(...metrics.Registerable)) Metrics {
	m := Metrics{
		changes: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_cloud_config_changes_total",
			Help:           "Changes of the provider's configuration files by result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
		stale: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_config_stale",
			Help:           "1 while the provider works with its former configuration, because the changed files are refused or cannot be read",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	register(m.changes, m.stale)
	return m
}

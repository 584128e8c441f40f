package cloud

import (
	"time"

	"k8s.io/component-base/metrics"
)

// Metrics are the metrics of the gateway.
type Metrics struct {
	calls    *metrics.CounterVec
	duration *metrics.HistogramVec
	overdue  *metrics.Gauge
	rate     *metrics.GaugeVec
	watch    *metrics.Gauge
}

// NewMetrics makes the metrics, registers them with register, and returns them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		calls: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_cloud_calls_total",
			Help:           "Calls to the cloud provider, by method and result",
			StabilityLevel: metrics.ALPHA,
		}, []string{"call", "result"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "fairlead_cloud_call_duration_seconds",
			Help:           "Time from the start of a call to the cloud provider to its return",
			Buckets:        metrics.ExponentialBuckets(0.005, 4, 9), // 5 ms to 5.5 min
			StabilityLevel: metrics.ALPHA,
		}, []string{"call"}),
		overdue: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_calls_overdue",
			Help:           "Calls to the cloud provider that have not returned after their deadline",
			StabilityLevel: metrics.ALPHA,
		}),
		rate: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_pace_calls_per_second",
			Help:           "Rate limit of calls to the cloud provider while the cloud's request quota is used up or seems to be, by the kind of calls; 0 means no limit",
			StabilityLevel: metrics.ALPHA,
		}, []string{"calls"}),
		watch: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_watch_works",
			Help:           "1 while the watch of the cloud's instances works; 0 if it has failed, has not reported a change, or is not offered",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	register(m.calls, m.duration, m.overdue, m.rate, m.watch)
	return m
}

func (m *Metrics) observe(call string, err error, took time.Duration) {
	m.calls.WithLabelValues(call, string(KindOf(err))).Inc()
	m.duration.WithLabelValues(call).Observe(took.Seconds())
}

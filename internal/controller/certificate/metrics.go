package certificate

import (
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// Metrics are the metrics of the controller. They outlive the controller.
type Metrics struct {
	requests *metrics.CounterVec
	waiting  *waiting.Gauges
}

// NewMetrics returns metrics and registers them.
func NewMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) *Metrics {
	m := newMetrics(clock.RealClock{})
	register(m.requests)
	collect(m.waiting)
	return m
}

func newMetrics(c clock.PassiveClock) *Metrics {
	return &Metrics{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_serving_certificate_requests_total",
			Help:           "Requests of kubelets for serving certificates by verdict (approved, denied, held) and reason. A request that waits is counted once for each reason for which it has waited.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"verdict", "reason"}),
		waiting: waiting.New(
			waiting.Metric{Name: "fairlead_serving_certificate_requests_pending", Help: "Waiting requests of kubelets for serving certificates, by reason"},
			waiting.Metric{Name: "fairlead_serving_certificate_requests_pending_oldest_seconds", Help: "Age of the oldest waiting request of a kubelet for a serving certificate"}, c),
	}
}

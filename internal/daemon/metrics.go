package daemon

import (
	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
)

// controllerMetrics exist during the whole life of the process, not only while it
// leads.
type controllerMetrics struct {
	cloud     *cloud.Metrics
	nodes     *node.Metrics
	lifecycle *nodelifecycle.Metrics
	services  *service.Metrics
	routes    *route.Metrics
	certs     *certificate.Metrics
	cidrs     *ipam.Metrics
	rotation  provider.Metrics
	// misconfigured is 1 for a controller that does not run because of its flags.
	misconfigured *metrics.GaugeVec
	// idle is 1 while the provider offers nothing that a controller could use.
	idle *metrics.Gauge
	// limited is 1 while calls to the cloud wait for a limit. The label names the
	// limit: the quota or the ceiling.
	limited *metrics.GaugeVec
}

// newControllerMetrics makes the metrics and registers them with register and
// collect.
func newControllerMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) controllerMetrics {
	m := controllerMetrics{
		cloud:     cloud.NewMetrics(register),
		nodes:     node.NewMetrics(register, collect),
		lifecycle: nodelifecycle.NewMetrics(register, collect),
		services:  service.NewMetrics(register, collect),
		routes:    route.NewMetrics(register, collect),
		certs:     certificate.NewMetrics(register, collect),
		cidrs:     ipam.NewMetrics(register, collect),
		rotation:  provider.NewMetrics(register),
		misconfigured: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_controller_misconfigured",
			Help:           "1 for a controller that does not run because its flags are wrong",
			StabilityLevel: metrics.ALPHA,
		}, []string{"name"}),
		idle: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "fairlead_provider_offers_nothing",
			Help:           "1 while no controller of the daemon has work, because the provider offers neither instances nor load balancers nor routes",
			StabilityLevel: metrics.ALPHA,
		}),
		limited: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_cloud_calls_limited",
			Help:           "1 while calls to the cloud provider often have to wait, because the request quota is used up (quota) or because flags limit the calls (ceiling), or while only the comparisons of all Nodes wait (share)",
			StabilityLevel: metrics.ALPHA,
		}, []string{"by"}),
	}
	register(m.misconfigured, m.idle, m.limited)
	return m
}

// RegisterMetrics registers all metrics of the daemon without starting it.
// The reference page of the metrics is made with it.
func RegisterMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) {
	newControllerMetrics(register, collect)
	serving.RegisterWebhookMetrics(register)
}

package service

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestWaitingServicesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		m := NewMetrics(registry.MustRegister, registry.CustomMustRegister)
		l := begin(t, Config{Metrics: m}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 3 * time.Minute })
		expect := func(when, want string) {
			t.Helper()
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "fairlead_services_waiting", "fairlead_services_waiting_oldest_seconds"); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		const oldest = `
			# HELP fairlead_services_waiting_oldest_seconds [ALPHA] Longest time that a Service has waited for its load balancer
			# TYPE fairlead_services_waiting_oldest_seconds gauge
			fairlead_services_waiting_oldest_seconds `
		l.after(2 * time.Minute)
		expect("behind another", `
			# HELP fairlead_services_waiting [ALPHA] Services whose load balancer still has to be created, changed or deleted, by the reason in their condition, or Queued
			# TYPE fairlead_services_waiting gauge
			fairlead_services_waiting{reason="Queued"} 1
		`+oldest+"120\n")
		l.after(8 * time.Minute)
		expect("afterwards", oldest+"0\n")
	})
}

func TestBackendsAreCountedWhileAControllerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		m := NewMetrics(registry.MustRegister, registry.CustomMustRegister)
		expect := func(when, want string) {
			t.Helper()
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "fairlead_load_balancer_backends"); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		const backends = `
			# HELP fairlead_load_balancer_backends [ALPHA] Nodes that belong behind the load balancers
			# TYPE fairlead_load_balancer_backends gauge
			fairlead_load_balancer_backends `
		expect("before", "")
		l := begin(t, Config{Metrics: m}, host("a"))
		l.after(time.Minute)
		expect("with one node", backends+"1\n")
		l.create(host("b"))
		l.after(time.Minute)
		expect("with two", backends+"2\n")
		l.stop()
		expect("afterwards", "")
	})
}

// Dashboards rely on the names of upstream's metrics. These metrics count only updates.
func TestUpstreamsMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister, registry.CustomMustRegister)
	m.observeCall(ensure, called{outcome: outcome{result: succeeded}, took: time.Second}, time.Minute)
	m.observeCall(update, called{outcome: outcome{result: succeeded}, took: 3 * time.Second}, 20*time.Second)
	m.observeCall(update, called{outcome: outcome{result: failed}, err: errors.New("no"), took: time.Second}, time.Second)
	want := `
		# HELP service_controller_loadbalancer_sync_total [ALPHA] Updates of the nodes behind a load balancer
		# TYPE service_controller_loadbalancer_sync_total counter
		service_controller_loadbalancer_sync_total 2
		# HELP service_controller_nodesync_error_total [ALPHA] Failed updates of the nodes behind a load balancer
		# TYPE service_controller_nodesync_error_total counter
		service_controller_nodesync_error_total 1
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "service_controller_loadbalancer_sync_total", "service_controller_nodesync_error_total"); err != nil {
		t.Error(err)
	}
	for name, seconds := range map[string]float64{
		"service_controller_update_loadbalancer_host_latency_seconds": 4, "service_controller_nodesync_latency_seconds": 21,
	} {
		vec, err := testutil.GetHistogramVecFromGatherer(registry, name, nil)
		if err != nil || len(vec) != 1 {
			t.Fatalf("%s: %d histograms, %v", name, len(vec), err)
		}
		buckets := vec[0].GetBucket()
		if vec.GetAggregatedSampleSum() != seconds || buckets[0].GetUpperBound() != 1 || buckets[14].GetUpperBound() != 16384 {
			t.Errorf("%s has the sum %v and the buckets %v", name, vec.GetAggregatedSampleSum(), buckets)
		}
	}
}

package service

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestWaitingServiceIsCountedOnce(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister, registry.CustomMustRegister)
	defer m.start()()
	s := newStore(m.waiting)
	expect := func(when, reason string) {
		t.Helper()
		want := ""
		if reason != "" {
			want = `
				# HELP fairlead_services_waiting [ALPHA] Services whose load balancer still has to be created, changed or deleted, by the reason in their condition, or Queued
				# TYPE fairlead_services_waiting gauge
				fairlead_services_waiting{reason="` + reason + `"} 1
			`
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "fairlead_services_waiting"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	queued := func() map[string]time.Time { return map[string]time.Time{"ns/s": noon} }
	s.noteQueued(queued())
	expect("queued", "Queued")
	s.remember("ns/s", known(balanced()).with(hasFailed(ensure, balanced(), 0)))
	expect("failed", "CloudFailed")
	s.noteQueued(queued())
	expect("failed, and queued for its retry", "CloudFailed")
	s.remember("ns/s", known(balanced()))
	expect("in line", "")
	s.noteQueued(queued())
	s.noteQueued(nil)
	expect("not queued any more", "")
	s.noteQueued(queued())
	s.forget("ns/s", false)
	expect("forgotten", "")
}

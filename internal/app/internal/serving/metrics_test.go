package serving

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
)

func TestGatherers(t *testing.T) {
	ours, theirs := metrics.NewKubeRegistry(), metrics.NewKubeRegistry()
	set := func(r metrics.KubeRegistry, name string, value float64) {
		g := metrics.NewGauge(&metrics.GaugeOpts{Name: name, Help: name, StabilityLevel: metrics.ALPHA})
		r.MustRegister(g)
		g.Set(value)
	}
	set(ours, "b", 1)
	set(ours, "d", 1)
	set(theirs, "c", 2)
	set(theirs, "b", 2) // that name is ours
	set(theirs, "a", 2)
	answer := httptest.NewRecorder()
	metrics.HandlerFor(gatherers{ours, theirs}, metrics.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	got := slices.DeleteFunc(strings.Split(answer.Body.String(), "\n"), func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
	if diff := cmp.Diff([]string{"a 2", "b 1", "c 2", "d 1"}, got); diff != "" {
		t.Errorf("status %d, metrics (-want +got):\n%s", answer.Code, diff)
	}
}

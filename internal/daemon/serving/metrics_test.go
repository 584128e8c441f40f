package serving

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"
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
	checkMetrics(t, gatherers{ours, theirs}, "a 2", "b 1", "c 2", "d 1")
}

// broken is a registry that returns a metric and an error, or panics.
type broken struct{ err error }

func (b broken) Gather() ([]*dto.MetricFamily, error) {
	if b.err == nil {
		panic("broken")
	}
	name, value := "theirs", 1.0
	return []*dto.MetricFamily{{Name: &name, Type: dto.MetricType_UNTYPED.Enum(), Metric: []*dto.Metric{{Untyped: &dto.Untyped{Value: &value}}}}}, b.err
}

func TestBrokenRegistryOfTheProgramHidesNothing(t *testing.T) {
	ours := metrics.NewKubeRegistry()
	g := metrics.NewGauge(&metrics.GaugeOpts{Name: "ours", Help: "ours", StabilityLevel: metrics.ALPHA})
	ours.MustRegister(g)
	checkMetrics(t, gatherers{ours, foreign{broken{errors.New("no answer")}}, foreign{broken{}}}, "ours 0", "theirs 1")
}

// checkMetrics checks that /metrics has exactly these lines for the registry.
func checkMetrics(t *testing.T, registry gatherers, want ...string) {
	t.Helper()
	answer := httptest.NewRecorder()
	metrics.HandlerFor(registry, metrics.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	got := slices.DeleteFunc(strings.Split(answer.Body.String(), "\n"), func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status %d, metrics (-want +got):\n%s", answer.Code, diff)
	}
}

// counting counts how often its metrics are gathered.
type counting struct{ n int }

func (c *counting) Gather() ([]*dto.MetricFamily, error) {
	c.n++
	return []*dto.MetricFamily{{}}, nil
}

func TestManyAnswersShareTheirMetrics(t *testing.T) {
	from, now := &counting{}, clocktesting.NewFakePassiveClock(time.Now())
	s := newScrapes(from, now)
	gathers := func(want int) {
		t.Helper()
		if _, err := s.Gather(); err != nil || from.n != want {
			t.Errorf("gathered %d times (%v), want %d", from.n, err, want)
		}
	}
	for n := range freshScrapes {
		s.count(1)
		gathers(n + 1)
	}
	for range 100 {
		s.count(1)
		gathers(freshScrapes)
	}
	now.SetTime(now.Now().Add(sharedFor))
	gathers(freshScrapes + 1)
	s.count(-s.underWay)
	s.count(freshScrapes + 1) // All answers are read, so nothing is kept for others.
	gathers(freshScrapes + 2)
}

package waiting

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestGauges(t *testing.T) {
	start := time.Unix(1000, 0)
	clock := clocktesting.NewFakePassiveClock(start.Add(time.Minute))
	g := New(Metric{"things_waiting", "Things that wait"}, Metric{"things_waiting_oldest_seconds", "How long the first has waited"}, clock)
	registry := metrics.NewKubeRegistry()
	registry.CustomMustRegister(g)
	shows := func(when, want string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "things_waiting", "things_waiting_oldest_seconds"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}

	shows("before a controller runs", "")
	stop := g.Start()
	g.Set("a", "Throttled", start)
	g.Set("b", "Throttled", start.Add(time.Second))
	g.Set("c", "Denied", start.Add(time.Second))
	shows("with three that wait", `
# HELP things_waiting [ALPHA] Things that wait
# TYPE things_waiting gauge
things_waiting{reason="Denied"} 1
things_waiting{reason="Throttled"} 2
# HELP things_waiting_oldest_seconds [ALPHA] How long the first has waited
# TYPE things_waiting_oldest_seconds gauge
things_waiting_oldest_seconds 60
`)
	g.Set("b", "Denied", start.Add(time.Second))
	g.Delete("a")
	shows("after one has another reason and one is done", `
# HELP things_waiting [ALPHA] Things that wait
# TYPE things_waiting gauge
things_waiting{reason="Denied"} 2
# HELP things_waiting_oldest_seconds [ALPHA] How long the first has waited
# TYPE things_waiting_oldest_seconds gauge
things_waiting_oldest_seconds 59
`)
	stop()
	shows("after the controller has ended", "")
	defer g.Start()()
	shows("when the next one starts", `
# HELP things_waiting_oldest_seconds [ALPHA] How long the first has waited
# TYPE things_waiting_oldest_seconds gauge
things_waiting_oldest_seconds 0
`)
}

package faults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestEveryFaultKindIsDescribed(t *testing.T) {
	diff(t, "kinds", len(wire.FaultKinds()), len(Describe()))
	settings := map[wire.FaultKind]string{}
	for _, k := range Describe() {
		if k.Effect == "" || len(k.Calls) == 0 {
			t.Errorf("%s: has no effect, or on no calls", k.Kind)
		}
		if len(k.Settings) > 0 {
			settings[k.Kind] = strings.Join(k.Settings, " ")
		}
	}
	diff(t, "settings", map[wire.FaultKind]string{
		wire.FaultLatency: "latency jitter", wire.FaultThrottle: "rate burst tokens", wire.FaultDenied: "status",
		wire.FaultTruncatedList: "fraction", wire.FaultStale: "age", wire.FaultInvisible: "age",
	}, settings)
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

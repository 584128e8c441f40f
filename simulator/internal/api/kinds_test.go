package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/forward"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// TestEveryKindIsListedAndWatched checks that each kind has one list, and that a
// watch sends the kind under the name of that list.
func TestEveryKindIsListedAndWatched(t *testing.T) {
	for _, k := range newServer(t, state.Limits{}).kinds() {
		lists := []string{}
		for _, e := range k.endpoints {
			if strings.HasPrefix(string(e.call), "List") {
				lists = append(lists, e.path)
			}
		}
		diff(t, "lists of "+k.name, []string{"/" + k.collection.Name}, lists)
	}
}

func TestCloudIsDescribed(t *testing.T) {
	feed := newServer(t, state.Limits{LoadBalancers: 3, Backends: 4, Routes: 5, UniqueRoutes: true}).describe(state.Limits{LoadBalancers: 3, Backends: 4, Routes: 5, UniqueRoutes: true})
	diff(t, "traffic and quota", []any{true, 100, 3, 4, 5, true}, []any{feed.Traffic, feed.PageSize, feed.MaxLoadBalancers, feed.MaxBackends, feed.MaxRoutes, feed.UniqueRoutes})
	diff(t, "fault kinds", len(wire.FaultKinds()), len(feed.FaultKinds))
}

// newServer returns a server of a cloud without resources.
func newServer(t *testing.T, limits state.Limits) *Server {
	t.Helper()
	store, err := state.New(state.Config{Clock: clock.RealClock{}, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Clock:     clock.RealClock{},
		PageSize:  100,
		Limits:    limits,
		Store:     store,
		Faults:    faults.New(0),
		Forwarder: forward.New(forward.Config{Clock: clock.RealClock{}, Store: store, Claims: &forward.Claims{}, Enabled: true}),
	})
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

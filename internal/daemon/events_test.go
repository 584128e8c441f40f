package daemon

import (
	"slices"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// The commands explain and doctor know the sources of all events.
func TestSourcesOfEvents(t *testing.T) {
	want := []string{settings.ManagerName}
	for _, c := range settings.Ours() {
		want = append(want, c.Source)
	}
	if got := cluster.EventSources(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

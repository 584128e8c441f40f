package doctor

import (
	"net/http"
	"path/filepath"
	"testing"
)

// TestOnlyABundleNeedsMore counts the requests for volumes and events. The checks
// need warnings, and events about Leases. They do not need volumes or other
// events.
func TestOnlyABundleNeedsMore(t *testing.T) {
	for name, row := range map[string]struct {
		bundle          bool
		codes           map[string]int
		volumes, events int // the number of requests
	}{
		"NoBundle":         {false, nil, 0, 3},
		"Bundle":           {true, nil, 1, 6},
		"NoRightToVolumes": {true, map[string]int{"persistentvolumes": http.StatusForbidden}, 1, 6},
		"NoRightToEvents":  {true, map[string]int{"events": http.StatusForbidden}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServerOf{objects: aCluster(), codes: row.codes}
			var args []string
			if row.bundle {
				args = []string{"--bundle=" + filepath.Join(t.TempDir(), "out.tar.gz")}
			}
			if _, err := diagnose(t, s, &quickClock{now: noon}, args...); err != nil {
				t.Error(err)
			}
			if s.asked["persistentvolumes"] != row.volumes || s.asked["events"] != row.events {
				t.Errorf("%d requests for volumes and %d for events, want %d and %d", s.asked["persistentvolumes"], s.asked["events"], row.volumes, row.events)
			}
		})
	}
}

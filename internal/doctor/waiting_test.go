package doctor

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
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

func TestUnread(t *testing.T) {
	v := healthy()
	v.Missing[Nodes], v.Missing[Services] = string(Nodes), string(Services)+" (EOF)"
	v.Partly[Volumes] = true
	want := []string{
		"Left out, because the right is missing: list nodes.",
		"Left out, because it failed: list services (EOF).",
		"Left out in part, because not all objects were read: list persistentvolumes.",
	}
	if d := cmp.Diff(want, v.Unread(Nodes, Services, Volumes, Requests)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestDaemonLease(t *testing.T) {
	for name, row := range map[string]struct {
		args   []string
		leases []string
		want   string
	}{
		"Usual":           {nil, []string{"cloud-controller-manager"}, "kube-system/cloud-controller-manager"},
		"UsualComesFirst": {[]string{"--leader-elect-resource-name=acme"}, []string{"acme", "cloud-controller-manager"}, "kube-system/cloud-controller-manager"},
		"OfTheManager":    {[]string{"--leader-elect-resource-name=acme"}, []string{"acme"}, "kube-system/acme"},
		"NobodyElects":    {[]string{"--leader-elect=false"}, nil, "kube-system/cloud-controller-manager"},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			runsWith(row.args...)(v)
			v.Leases = []coordinationv1.Lease{}
			for _, name := range row.leases {
				lease(name, 0)(v)
			}
			if got := v.DaemonLease(); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

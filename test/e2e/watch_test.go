package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// With a watch, a change in the cloud shows on the Node at once. No change is lost when a
// call of the watch fails. A metric and /readyz show that the watch fails (P1).
func TestWatchOfInstances(t *testing.T) {
	b := onShared(t)
	i := b.Kubelet(t, simulator.Instance{Name: b.Name("watched"), Labels: map[string]string{"rack": "r1"}})
	// The period is so long that only the watch can show a change in time.
	d := b.Daemon(t, daemon.Setup{FastPaths: true, Flags: []string{"--node-status-update-frequency=1h"}})
	b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
	b.AwaitMetric(t, d, "fairlead_cloud_watch_works 1")
	changes := func(value string) {
		t.Helper()
		i = b.Cloud.Change(t, i, simulator.InstancePatch{Labels: map[string]*string{"rack": &value}})
	}
	rack := func(value string) {
		t.Helper()
		changes(value)
		b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
	}
	rack("r2")

	b.Cloud.Fail(t, simulator.Fault{Name: "once", Kind: simulator.FaultOutage, Calls: []simulator.Call{simulator.WatchInstances}, Count: 1})
	rack("r3") // The next call fails.
	d.AwaitLogged(t, "The watch of the cloud's instances does not work")
	rack("r4")

	b.Cloud.Fail(t, simulator.Fault{Name: "ever", Kind: simulator.FaultOutage, Calls: []simulator.Call{simulator.WatchInstances}})
	changes("r5") // A call that has begun before the fault returns, and the next one fails.
	b.AwaitMetric(t, d, "fairlead_cloud_watch_works 0")
	status, body := d.Ask(t.Context(), t, "/readyz?verbose", "")
	if status != http.StatusOK || !strings.Contains(body, "the watch of instances has failed") {
		t.Errorf("/readyz?verbose answers %d: %s", status, body)
	}
	changes("r6") // A call of the watch returns after two minutes, or when something has changed, as here.
	b.Cloud.Heal(t)
	b.AwaitMetric(t, d, "fairlead_cloud_watch_works 1")
	rack("r7") // After several failures the watch has begun anew, and does not name the changes from before.
}

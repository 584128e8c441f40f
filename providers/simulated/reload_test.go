package simulated

import (
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// The daemon keeps the interfaces that it got before a reload. After the reload,
// they use the new configuration.
func TestReload(t *testing.T) {
	before, after := newRouting(t, simulator.Config{}), newRouting(t, simulator.Config{})
	after.create(t, simulator.Instance{Name: "only-there"})
	endpoint := "endpoint: " + string(after.cloud.connection().config.Endpoint)

	for _, refused := range []string{"", "endpoint: nowhere", endpoint + "\npageSize: none", endpoint + "\nunknown: 1"} {
		if err := before.cloud.Reload(t.Context(), strings.NewReader(refused)); err == nil {
			t.Errorf("%q is accepted", refused)
		}
	}
	diff(t, "reload without a file", nil, before.cloud.Reload(t.Context(), nil))
	there := func() bool {
		exists, err := before.instances.InstanceExists(t.Context(), node("only-there", ""))
		diff(t, "error", nil, err)
		return exists
	}
	diff(t, "the refused configuration is used", false, there())

	diff(t, "error", nil, before.cloud.Reload(t.Context(), strings.NewReader(endpoint+"\nrouteAddresses: true\npageSize: 2")))
	diff(t, "it asks the other cloud", true, there())
	before.make(t, 1, "10.244.1.0/24")
	diff(t, "routes of the cloud before", []string{}, before.table(t))
	diff(t, "routes of the other cloud", []string{"rt-00000001 10.244.1.0/24->i-00000001"}, after.table(t))
	diff(t, "it keeps addresses", 1, len(before.list(t)[0].TargetNodeAddresses))
}

// A reload may happen while calls are running.
func TestReloadBesideCalls(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	f.create(t, simulator.Instance{Name: "node-1"})
	config := "endpoint: " + string(f.cloud.connection().config.Endpoint)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 20 {
				if exists, err := f.instances.InstanceExists(t.Context(), node("node-1", "")); !exists || err != nil {
					t.Errorf("%v, %v", exists, err)
				}
			}
		})
	}
	for range 20 {
		diff(t, "error", nil, f.cloud.Reload(t.Context(), strings.NewReader(config)))
	}
	calls.Wait()
}

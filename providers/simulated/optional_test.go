package simulated

import (
	"errors"
	"strings"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// The load balancers lack exactly the interfaces that the configuration switches
// off.
func TestOptionalInterfacesOfLoadBalancersCanBeSwitchedOff(t *testing.T) {
	for _, without := range []optional{{}, {BackendSetter: true}, {ConcurrentCalls: true}, {BackendSetter: true, ConcurrentCalls: true}} {
		balancers := (&loadBalancers{}).offering(without)
		_, setter := balancers.(provider.BackendSetter)
		_, concurrent := balancers.(provider.ConcurrentLoadBalancer)
		if not := (optional{BackendSetter: !setter, ConcurrentCalls: !concurrent}); not != without {
			t.Errorf("%+v is not offered, want %+v", not, without)
		}
	}
}

func TestTerminationsCanBeSwitchedOff(t *testing.T) {
	f := newFixture(t, simulator.Config{TerminatedFor: time.Hour}, "withoutTerminations: true")
	f.create(t, simulator.Instance{Name: "node-1"})
	terminated(t, f)
	got, err := f.instances.(provider.Terminations).InstanceTermination(t.Context(), node("node-1", "simulated://sim-1/i-00000001"))
	diff(t, "termination", provider.Termination{}, got)
	diff(t, "error", true, errors.Is(err, cloudprovider.NotImplemented))
}

// kinds lists the known kinds of calls, and a kind that does not exist yet.
var kinds = []provider.CallKind{provider.InstanceCalls, provider.ExistenceCalls, provider.LoadBalancerCalls, provider.RouteCalls, "volumes"}

func declared(c provider.ConcurrentCaller) (most []int) {
	for _, kind := range kinds {
		most = append(most, c.MaxConcurrentCalls(kind))
	}
	return most
}

func TestConcurrencyCanBeSwitchedOff(t *testing.T) {
	for line, want := range map[string][]int{
		"":                             {16, 16, 10, 200, 0},
		"withoutConcurrentCalls: true": {0, 0, 0, 0, 0},
	} {
		diff(t, line, want, declared(newFixture(t, simulator.Config{}, line).cloud))
	}
}

// The daemon asks a provider only once for its interfaces. So a reload does not
// change them, and the log says so.
func TestReloadChangesNothingThatIsOffered(t *testing.T) {
	f := newFixture(t, simulator.Config{}, "withoutBackendSetter: true")
	for _, tt := range []struct {
		lines string
		said  bool
	}{
		{"withoutBackendSetter: true", false},
		{"withoutBackendSetter: true\npageSize: 2", false},
		{"", true},
		{"withoutBackendSetter: true\nwithoutConcurrentCalls: true\nwithoutLists: true\nwithoutRouteApplier: true", true},
	} {
		log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		config := "endpoint: " + string(f.cloud.connection().config.Endpoint) + "\n" + tt.lines
		diff(t, "error", nil, f.cloud.Reload(klog.NewContext(t.Context(), log), strings.NewReader(config)))
		text := log.GetSink().(ktesting.Underlier).GetBuffer().String()
		diff(t, tt.lines+" is said to take effect later", tt.said, strings.Contains(text, "takes effect at the next start"))

		diff(t, "calls at once", []int{16, 16, 10, 200, 0}, declared(f.cloud))
		balancers, _ := f.cloud.LoadBalancer()
		_, setter := balancers.(provider.BackendSetter)
		_, concurrent := balancers.(provider.ConcurrentLoadBalancer)
		instances, _ := f.cloud.InstancesV2()
		_, lists := instances.(provider.InstanceLister)
		routes, _ := f.cloud.Routes()
		_, applier := routes.(provider.RouteApplier)
		diff(t, "BackendSetter, ConcurrentLoadBalancer, InstanceLister and RouteApplier are offered", [4]bool{false, true, true, true}, [4]bool{setter, concurrent, lists, applier})
	}
}

package simulated

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// apply makes the changes and returns the text of each error.
func (r routing) apply(t *testing.T, changes ...provider.RouteChange) []string {
	t.Helper()
	results, err := r.routes.(provider.RouteApplier).ApplyRoutes(t.Context(), cluster, changes)
	diff(t, "error", nil, err)
	diff(t, "results", len(changes), len(results))
	texts := make([]string, len(changes))
	for _, result := range results {
		if result.Err != nil {
			texts[result.Change] = result.Err.Error()
		}
	}
	return texts
}

func (r routing) count(t *testing.T) int64 {
	t.Helper()
	report, err := r.operator.Calls(t.Context())
	diff(t, "error", nil, err)
	return report.Count()
}

func TestApplyRoutes(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.make(t, 1, "10.244.1.0/24")
	r.make(t, 1, "10.244.2.0/24")
	listed := r.list(t)
	before := r.count(t)
	got := r.apply(t,
		provider.RouteChange{Create: toNode(2, "10.244.3.0/24"), NameHint: "hint"},
		provider.RouteChange{Delete: listed[0]},
		provider.RouteChange{Create: &cloudprovider.Route{TargetNode: "gone", DestinationCIDR: "10.244.4.0/24"}},
		provider.RouteChange{Create: toNode(1, "no range")},
		provider.RouteChange{Delete: &cloudprovider.Route{Name: "rt-00000099", DestinationCIDR: "10.244.5.0/24"}},
	)
	diff(t, "errors", []string{
		"", "", "create route for 10.244.4.0/24 to gone: instance named gone: instance not found",
		`destination "no range" is not a range such as 10.244.1.0/24`, "",
	}, got)
	diff(t, "calls", int64(1), r.count(t)-before)
	var left []string
	for _, route := range r.list(t) {
		left = append(left, route.DestinationCIDR+" to "+string(route.TargetNode))
	}
	diff(t, "what is left", []string{"10.244.2.0/24 to node-1", "10.244.3.0/24 to node-2"}, left)
}

// A repeated change succeeds. A route without a name is found by its destination
// and its target.
func TestApplyRoutesAgain(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	for range 2 {
		diff(t, "errors", []string{"", ""}, r.apply(t,
			provider.RouteChange{Create: toNode(1, "10.244.1.0/24")}, provider.RouteChange{Create: toNode(2, "10.244.2.0/24")}))
	}
	for range 2 {
		diff(t, "errors", []string{""}, r.apply(t, provider.RouteChange{Delete: toNode(1, "10.244.1.0/24")}))
	}
	diff(t, "what is left", 1, len(r.list(t)))
}

// A call that fails as a whole has no results.
func TestApplyRoutesFails(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	r.set(t, simulator.Fault{Kind: simulator.FaultOutage, Calls: []simulator.Call{simulator.ChangeRoutes}})
	results, err := r.routes.(provider.RouteApplier).ApplyRoutes(t.Context(), cluster, []provider.RouteChange{{Create: toNode(1, "10.244.1.0/24")}})
	if err == nil || results != nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("%v, %v", results, err)
	}
}

func TestManyRoutesNeedFewCalls(t *testing.T) {
	r := newRouting(t, simulator.Config{})
	const n = 200
	for i := range n {
		r.create(t, simulator.Instance{Name: fmt.Sprintf("many-%d", i)})
	}
	var changes []provider.RouteChange
	for i := range n {
		changes = append(changes, provider.RouteChange{Create: &cloudprovider.Route{TargetNode: types.NodeName(fmt.Sprintf("many-%d", i)), DestinationCIDR: fmt.Sprintf("10.244.%d.0/24", i)}})
	}
	before := r.count(t)
	r.apply(t, changes...)
	diff(t, "calls", int64(1), r.count(t)-before)
}

// An interface that the configuration switches off is not offered.
func TestWithoutRouteApplier(t *testing.T) {
	for line, want := range map[string]bool{"": true, "withoutRouteApplier: true": false} {
		_, offered := newRouting(t, simulator.Config{}, line).routes.(provider.RouteApplier)
		diff(t, "offered", want, offered)
	}
}

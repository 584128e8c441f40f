package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// pages is a cloud whose list has two pages.
type pages struct{ cloudprovider.InstancesV2 }

func (pages) ListInstances(_ context.Context, token string) (provider.InstancePage, error) {
	if token == "" {
		return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: "example://i-1"}}, Next: "i-1"}, nil
	}
	return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: "example://i-2"}}}, nil
}

func ExampleInstanceLister() {
	var lister provider.InstanceLister = pages{}
	for token, more := "", true; more; {
		page, err := lister.ListInstances(context.Background(), token)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, i := range page.Instances {
			fmt.Println(i.ProviderID)
		}
		token, more = page.Next, page.Next != ""
	}
	// Output:
	// example://i-1
	// example://i-2
}

// journal is a cloud that numbers its changes. It has forgotten the changes before
// number 100.
type journal struct {
	cloudprovider.InstancesV2

	changes []string // the first one has the number 100
}

func (j journal) WatchInstances(_ context.Context, token string) (provider.InstanceChanges, error) {
	last := 99 + len(j.changes)
	if token == "" {
		return provider.InstanceChanges{Resume: strconv.Itoa(last)}, nil
	}
	var since int
	if _, err := fmt.Sscan(token, &since); err != nil || since < 99 || since > last {
		return provider.InstanceChanges{}, fmt.Errorf("changes since %q: %w", token, provider.ErrWatchExpired)
	}
	answer := provider.InstanceChanges{Resume: strconv.Itoa(last)}
	for _, id := range j.changes[since-99:] {
		answer.Changed = append(answer.Changed, provider.InstanceRef{ProviderID: id})
	}
	return answer, nil // A real provider waits here while there is no change.
}

func ExampleInstanceWatcher() {
	var watcher provider.InstanceWatcher = journal{changes: []string{"example://i-1", "example://i-2"}}
	for _, token := range []string{"100", "7"} {
		answer, err := watcher.WatchInstances(context.Background(), token)
		fmt.Println(answer.Changed, answer.Resume, err)
	}
	// Output:
	// [{example://i-2 }] 101 <nil>
	// []  changes since "7": the token of the watch has expired
}

// table is a cloud that accepts many changes of its route table in one call.
type table struct {
	cloudprovider.Routes

	routes map[string]string // the node of each destination
}

func (table) MaxRouteChanges() int { return 100 }

func (t table) ApplyRoutes(_ context.Context, _ string, changes []provider.RouteChange) ([]provider.RouteResult, error) {
	var results []provider.RouteResult
	for n, change := range changes {
		result := provider.RouteResult{Change: n}
		switch {
		case change.Delete != nil:
			delete(t.routes, change.Delete.DestinationCIDR) // It may be gone already.
		case change.Create.TargetNode == "":
			result.Err = errors.New("no target")
		default:
			t.routes[change.Create.DestinationCIDR] = string(change.Create.TargetNode)
		}
		results = append(results, result)
	}
	return results, nil
}

func ExampleRouteApplier() {
	cloud := table{routes: map[string]string{"10.244.1.0/24": "node-1"}}
	var applier provider.RouteApplier = cloud
	results, err := applier.ApplyRoutes(context.Background(), "kubernetes", []provider.RouteChange{
		{Delete: &cloudprovider.Route{DestinationCIDR: "10.244.1.0/24"}},
		{Create: &cloudprovider.Route{DestinationCIDR: "10.244.2.0/24", TargetNode: "node-2"}},
		{Create: &cloudprovider.Route{DestinationCIDR: "10.244.3.0/24"}},
	})
	for _, result := range results {
		fmt.Println(result.Change, result.Err)
	}
	fmt.Println(cloud.routes, err)
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 2 no target
	// map[10.244.2.0/24:node-2] <nil>
}

// group is a cloud where load balancers share one set of nodes.
type group struct {
	cloudprovider.LoadBalancer

	members map[string]bool // the Services that have a load balancer
}

func (group) MaxBackendServices() int { return 500 }

func (g group) SetBackends(_ context.Context, _ string, services []*corev1.Service, _ []*corev1.Node) ([]provider.BackendResult, error) {
	results := make([]provider.BackendResult, len(services)) // A real provider sets the nodes here, with one call.
	for n, service := range services {
		results[n].Service = n
		if !g.members[service.Name] {
			results[n].Err = fmt.Errorf("%s has no load balancer", service.Name)
		}
	}
	return results, nil
}

func ExampleBackendSetter() {
	var setter provider.BackendSetter = group{members: map[string]bool{"web": true}}
	named := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	results, err := setter.SetBackends(context.Background(), "kubernetes", []*corev1.Service{named("web"), named("new")}, nil)
	for _, result := range results {
		fmt.Println(result.Service, result.Err)
	}
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// 1 new has no load balancer
	// <nil>
}

// counted wraps a provider without hiding the provider's optional interfaces.
type counted struct{ cloudprovider.Interface }

func (c counted) Unwrap() cloudprovider.Interface { return c.Interface }

// steady is a cloud that takes 50 calls for routes at once.
type steady struct{ cloudprovider.Interface }

func (steady) MaxConcurrentCalls(kind provider.CallKind) int {
	if kind == provider.RouteCalls {
		return 50
	}
	return 0 // The default applies.
}

func ExampleConcurrentCaller() {
	var caller provider.ConcurrentCaller = steady{}
	fmt.Println(caller.MaxConcurrentCalls(provider.RouteCalls), caller.MaxConcurrentCalls(provider.InstanceCalls))
	// Output: 50 0
}

func ExampleUnwrapper() {
	var wrapper provider.Unwrapper[cloudprovider.Interface] = counted{steady{}}
	_, itself := wrapper.(provider.ConcurrentCaller)
	_, wrapped := wrapper.Unwrap().(provider.ConcurrentCaller)
	fmt.Println(itself, wrapped)
	// Output: false true
}

package cloud

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// changing has the methods of a provider that change the cloud. All other methods that
// the gateway knows are in the list reading.
var changing = []string{
	"EnsureLoadBalancer", "UpdateLoadBalancer", "EnsureLoadBalancerDeleted", "SetBackends",
	"CreateRoute", "DeleteRoute", "ApplyRoutes",
}

var reading = []string{
	"AddSSHKeyToAllInstances", // The gateway never calls it; see TestReadOnlyGateway.
	"CurrentNodeName", "InstanceID", "InstanceType", "InstanceTypeByProviderID", "NodeAddresses", "NodeAddressesByProviderID",
	"InstanceExistsByProviderID", "InstanceShutdownByProviderID", "GetZone", "GetZoneByNodeName", "GetZoneByProviderID",
	"InstanceExists", "InstanceShutdown", "InstanceTermination", "InstanceMetadata", "InstanceMetadataBatch", "MaxInstanceMetadataBatch", "ListInstances", "WatchInstances",
	"GetLoadBalancer", "GetLoadBalancerName", "MaxConcurrentServices", "MaxBackendServices", "MaxBackends",
	"ListRoutes", "MaxRouteChanges", "GetLabelsForVolume",
	"SetInformers", "Reload", "Offers", "ClassifyError", "MaxConcurrentCalls", "LoadBalancerFeatures",
}

// everything is a provider with every part and every fast path. It records the
// calls.
type everything struct {
	vendor

	mu    *sync.Mutex
	calls map[string]bool
}

func (e everything) called(method string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls[method] = true
}

func (e everything) InstancesV2() (cloudprovider.InstancesV2, bool)   { return e, true }
func (e everything) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return e, true }
func (e everything) Routes() (cloudprovider.Routes, bool)             { return e, true }

func (e everything) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	e.called("InstanceExists")
	return true, nil
}

func (e everything) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	e.called("InstanceShutdown")
	return false, nil
}

func (e everything) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	e.called("InstanceMetadata")
	return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, nil
}

func (e everything) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	e.called("InstanceMetadataBatch")
	return make([]provider.InstanceMetadataAnswer, len(nodes)), nil
}

func (everything) MaxInstanceMetadataBatch() int { return 2 }

func (e everything) ListInstances(context.Context, string) (provider.InstancePage, error) {
	e.called("ListInstances")
	return provider.InstancePage{}, nil
}

func (e everything) WatchInstances(context.Context, string) (provider.InstanceChanges, error) {
	e.called("WatchInstances")
	return provider.InstanceChanges{Resume: "1"}, nil
}

func (everything) GetLoadBalancerName(context.Context, string, *corev1.Service) string { return "lb" }

func (everything) GetLoadBalancer(context.Context, string, *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return nil, false, nil
}

func (e everything) EnsureLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	e.called("EnsureLoadBalancer")
	return &corev1.LoadBalancerStatus{}, nil
}

func (e everything) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	e.called("UpdateLoadBalancer")
	return nil
}

func (e everything) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	e.called("EnsureLoadBalancerDeleted")
	return nil
}

func (e everything) SetBackends(context.Context, string, []*corev1.Service, []*corev1.Node) ([]provider.BackendResult, error) {
	e.called("SetBackends")
	return nil, nil
}

func (everything) MaxBackendServices() int    { return 100 }
func (everything) MaxConcurrentServices() int { return 10 }
func (everything) MaxBackends() int           { return 7 }

func (e everything) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	e.called("ListRoutes")
	return nil, nil
}

func (e everything) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	e.called("CreateRoute")
	return nil
}

func (e everything) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	e.called("DeleteRoute")
	return nil
}

func (e everything) ApplyRoutes(context.Context, string, []provider.RouteChange) ([]provider.RouteResult, error) {
	e.called("ApplyRoutes")
	return nil, nil
}

func (everything) MaxRouteChanges() int { return 100 }

func (e everything) GetLabelsForVolume(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
	e.called("GetLabelsForVolume")
	return map[string]string{}, nil
}

// walk calls every method of every part of the gateway. It also creates two routes at
// the same time, which then share a call.
func walk(t *testing.T, g *Gateway) {
	t.Helper()
	for _, part := range []any{g.Instances(), g.Instances().Lister(), g.Instances().Watcher(), g.LoadBalancers(), g.Routes(), g.Volumes()} {
		v := reflect.ValueOf(part)
		for n := range v.NumMethod() {
			v.Method(n).Call(arguments(t, v.Type().Method(n).Name, v.Method(n).Type()))
		}
	}
	var all sync.WaitGroup
	for _, cidr := range []string{"10.0.1.0/24", "10.0.2.0/24"} {
		all.Go(func() { _ = g.Routes().Create(t.Context(), "hint", Route{Node: "n", CIDR: cidr}) })
	}
	all.Wait()
}

// arguments returns values with which a method can be called.
func arguments(t *testing.T, method string, f reflect.Type) (all []reflect.Value) {
	t.Helper()
	known := map[reflect.Type]any{
		reflect.TypeFor[context.Context]():          t.Context(),
		reflect.TypeFor[*corev1.Node]():             node("n"),
		reflect.TypeFor[[]*corev1.Node]():           []*corev1.Node{node("n")},
		reflect.TypeFor[*corev1.Service]():          service("s"),
		reflect.TypeFor[[]*corev1.Service]():        []*corev1.Service{service("s")},
		reflect.TypeFor[*corev1.PersistentVolume](): &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}},
		reflect.TypeFor[Route]():                    Route{Node: "n", CIDR: "10.0.0.0/24"},
		reflect.TypeFor[string]():                   "text",
	}
	for in := range f.Ins() {
		value, ok := known[in]
		if !ok {
			t.Fatalf("%s needs a %v: add one to this test", method, in)
		}
		all = append(all, reflect.ValueOf(value))
	}
	return all
}

// A read-only gateway does not call any method that changes the cloud, not even on
// a fast path. The same calls to a gateway that is not read-only reach all these
// methods, which shows that walk leaves none out.
func TestReadOnlyGateway(t *testing.T) {
	for name, isReadOnly := range map[string]bool{"ReadOnly": true, "Usual": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := everything{mu: &sync.Mutex{}, calls: map[string]bool{}}
				var mu sync.Mutex
				refused := map[string]bool{}
				cfg := Config{}
				if isReadOnly {
					cfg.ReadOnly = func(method, object string) {
						mu.Lock()
						defer mu.Unlock()
						refused[method+" "+object] = true
					}
				}
				walk(t, gateway(t, p, cfg))
				synctest.Wait()
				changed := slices.Sorted(maps.Keys(p.calls))
				changed = slices.DeleteFunc(changed, func(m string) bool { return !slices.Contains(changing, m) })
				var want []string
				if !isReadOnly {
					want = slices.Sorted(slices.Values(changing))
				}
				if diff := cmp.Diff(want, changed, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("calls that change the cloud (-want +got):\n%s", diff)
				}
				if !p.calls["ListRoutes"] || !p.calls["InstanceExists"] {
					t.Errorf("the cloud was not read: %v", p.calls)
				}
				for _, method := range changing {
					if told := slices.ContainsFunc(slices.Collect(maps.Keys(refused)), func(r string) bool { return strings.HasPrefix(r, method+" ") }); told != isReadOnly {
						t.Errorf("%s is told as refused: %t", method, told)
					}
				}
			})
		})
	}
}

// Each method that the gateway knows is in exactly one of the lists changing and
// reading.
func TestEveryMethodReadsOrChanges(t *testing.T) {
	offers := []reflect.Type{reflect.TypeFor[extras](), reflect.TypeFor[parts]()}
	for _, offered := range offers {
		for field := range offered.Fields() {
			part := field.Type
			for m := range part.Methods() {
				method := m.Name
				if slices.Contains(changing, method) == slices.Contains(reading, method) {
					t.Errorf("%v.%s: add it to changing or to reading", part, method)
				}
				if slices.Contains(changing, method) && !reflect.TypeFor[everything]().Implements(part) {
					t.Errorf("type everything is no %v, so no test calls its methods", part)
				}
			}
		}
	}
}

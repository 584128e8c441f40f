package cloud

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

// balancer is a LoadBalancer that calls the function for each change.
type balancer func(ctx context.Context, call string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)

func (balancer) GetLoadBalancerName(context.Context, string, *corev1.Service) string { return "lb" }

func (b balancer) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	status, err := b(ctx, "Get "+cluster, service, nil)
	return status, status != nil, err
}

func (b balancer) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return b(ctx, "Ensure "+cluster, service, nodes)
}

func (b balancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	_, err := b(ctx, "Update "+cluster, service, nodes)
	return err
}

func (b balancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	_, err := b(ctx, "Delete "+cluster, service, nil)
	return err
}

// manyAtOnce is a balancer that allows calls about several Services at the same
// time.
type manyAtOnce struct{ balancer }

func (manyAtOnce) MaxConcurrentServices() int { return 10 }

var _ provider.ConcurrentLoadBalancer = manyAtOnce{}

func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
}

func balancers(t *testing.T, b cloudprovider.LoadBalancer, cfg Config) *LoadBalancers {
	t.Helper()
	cfg.ClusterName = "c1"
	return gateway(t, vendor{balancer: b}, cfg).LoadBalancers()
}

func TestLoadBalancerCalls(t *testing.T) {
	var calls []string
	status := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "127.64.0.1"}}}
	l := balancers(t, balancer(func(_ context.Context, call string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		calls = append(calls, fmt.Sprint(call, " ", s.Name, " ", len(nodes)))
		s.Name = "changed"
		if nodes != nil {
			nodes[0] = nil
		}
		return status, nil
	}), Config{})
	s, nodes := service("s"), []*corev1.Node{node("a")}
	got, err := l.Ensure(t.Context(), s, nodes)
	if err != nil || got == status {
		t.Errorf("status %p of the provider's %p, error %v, want a copy", got, status, err)
	}
	if diff := cmp.Diff(status, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := l.Update(t.Context(), s, nodes); err != nil {
		t.Error(err)
	}
	if err := l.Delete(t.Context(), s); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Ensure c1 s 1", "Update c1 s 1", "Delete c1 s 0"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if s.Name != "s" || nodes[0] == nil {
		t.Error("the provider has changed what belongs to the caller")
	}
}

// A provider may change and keep the nodes that it gets. No other call gets the
// same objects, and the caller's nodes do not change.
func TestEachCallHasItsOwnNodes(t *testing.T) {
	var kept []*corev1.Node
	l := balancers(t, setter{
		balancer(func(_ context.Context, _ string, _ *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			kept = append(kept, nodes...)
			return &corev1.LoadBalancerStatus{}, nil
		}),
		func(_ []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
			kept = append(kept, nodes...)
			return []provider.BackendResult{{Service: 0}}, nil
		},
	}, Config{})
	s, nodes := service("s"), []*corev1.Node{node("a")}
	if _, err := l.Ensure(t.Context(), s, nodes); err != nil {
		t.Error(err)
	}
	if err := l.Update(t.Context(), s, nodes); err != nil {
		t.Error(err)
	}
	if errs := l.UpdateMany(t.Context(), []*corev1.Service{s}, nodes); errs[0] != nil {
		t.Error(errs[0])
	}
	if len(kept) != 3 {
		t.Fatalf("the provider got %d nodes in 3 calls", len(kept))
	}
	for n, node := range kept {
		node.Name = "changed"
		node.Labels = map[string]string{"changed": strconv.Itoa(n)}
	}
	if diff := cmp.Diff(node("a"), nodes[0]); diff != "" {
		t.Errorf("the caller's node (-want +got):\n%s", diff)
	}
	if kept[0].Labels["changed"] != "0" || kept[1].Labels["changed"] != "1" {
		t.Error("two calls had the same node")
	}
}

func TestLoadBalancerIsFound(t *testing.T) {
	one := &corev1.LoadBalancerStatus{}
	for _, tt := range []struct {
		name   string
		answer func(ctx context.Context) (*corev1.LoadBalancerStatus, error)
		want   bool
		kind   Kind
	}{
		{"Found", func(context.Context) (*corev1.LoadBalancerStatus, error) { return one, nil }, true, Succeeded},
		{"NotFound", func(context.Context) (*corev1.LoadBalancerStatus, error) { return nil, nil }, false, Succeeded},
		{"Failure", func(context.Context) (*corev1.LoadBalancerStatus, error) { return one, httpError(503) }, false, Unavailable},
		{"NotFoundAfterTheDeadline", func(ctx context.Context) (*corev1.LoadBalancerStatus, error) { <-ctx.Done(); return nil, nil }, false, TimedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := balancers(t, balancer(func(ctx context.Context, _ string, _ *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
					return tt.answer(ctx)
				}), Config{})
				if got, err := l.Find(t.Context(), service("s")); got != tt.want || KindOf(err) != tt.kind {
					t.Errorf("found %v, %v; want %v, %s", got, err, tt.want, tt.kind)
				}
			})
		})
	}
}

func TestLoadBalancerConcurrencyIsDeclared(t *testing.T) {
	answer := balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		return nil, nil
	})
	if got := balancers(t, answer, Config{}).Concurrency(); got != 1 {
		t.Errorf("concurrency %d of a provider that says nothing, want 1", got)
	}
	if got := balancers(t, manyAtOnce{answer}, Config{}).Concurrency(); got != 10 {
		t.Errorf("concurrency %d, want the declared 10", got)
	}
	if gateway(t, vendor{}, Config{}).LoadBalancers() != nil {
		t.Error("load balancers of a provider that offers none")
	}
}

func TestKindOfALoadBalancersError(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		kind  Kind
		pause time.Duration
	}{
		{"NilStatusIsAFailure", nil, Failed, 0},
		{"ImplementedElsewhere", cloudprovider.ImplementedElsewhere, Elsewhere, 0},
		{"ImplementedElsewhereWrapped", fmt.Errorf("a: %w", cloudprovider.ImplementedElsewhere), Elsewhere, 0},
		{"RetryError", fmt.Errorf("a: %w", api.NewRetryError("later", time.Minute)), Pending, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
				return nil, tt.err
			}), Config{})
			_, err := l.Ensure(t.Context(), service("s"), nil)
			if KindOf(err) != tt.kind || RetryAfter(err) != tt.pause {
				t.Errorf("kind %v, pause %v of %v, want %v and %v", KindOf(err), RetryAfter(err), err, tt.kind, tt.pause)
			}
		})
	}
}

// The cache has only a part of the managed fields. A provider that writes the
// Service back must not write that part.
func TestProviderGetsNoManagedFields(t *testing.T) {
	for name, call := range map[string]func(*LoadBalancers, *corev1.Service) error{
		"Ensure": func(l *LoadBalancers, s *corev1.Service) error {
			_, err := l.Ensure(t.Context(), s, nil)
			return err
		},
		"Update": func(l *LoadBalancers, s *corev1.Service) error { return l.Update(t.Context(), s, nil) },
		"Delete": func(l *LoadBalancers, s *corev1.Service) error { return l.Delete(t.Context(), s) },
		"Find": func(l *LoadBalancers, s *corev1.Service) error {
			_, err := l.Find(t.Context(), s)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cached := service("s")
			cached.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
			cached.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
			var got *corev1.Service
			l := balancers(t, balancer(func(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
				got = s
				return &corev1.LoadBalancerStatus{}, nil
			}), Config{})
			if err := call(l, cached); err != nil {
				t.Fatal(err)
			}
			want := cached.DeepCopy()
			want.ManagedFields = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the provider is given (-want +got):\n%s", diff)
			}
			if len(cached.ManagedFields) != 1 {
				t.Error("the caller's Service has changed")
			}
		})
	}
}

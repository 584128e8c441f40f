package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

const serviceFinalizer = "service.kubernetes.io/load-balancer-cleanup"

// balanced creates a Service of type LoadBalancer, which ends with the test if
// a daemon lets it.
func (b *bed) balanced(t *testing.T, base string) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: b.name(base)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": base}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
	services := b.admin.CoreV1().Services(metav1.NamespaceDefault)
	if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cleanup(t, func(ctx context.Context) error {
		err := services.Delete(ctx, service.Name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if _, patchErr := services.Patch(ctx, service.Name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); patchErr != nil && !apierrors.IsNotFound(patchErr) {
			return patchErr
		}
		return err
	})
	return service.Name
}

func (b *bed) deleteService(t *testing.T, name string) {
	t.Helper()
	if err := b.admin.CoreV1().Services(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// balancersOf are the load balancers that the cloud has for a Service.
func (b *bed) balancersOf(ctx context.Context, service string) ([]simulator.LoadBalancer, error) {
	all, err := b.cloud.LoadBalancers(ctx)
	return slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool { return !strings.Contains(l.Name, service) }), err
}

// awaitServing waits until the Service shows the address of its one load
// balancer, with these instances behind it and nothing else to wait for.
func (b *bed) awaitServing(t *testing.T, name string, instances ...simulator.Instance) {
	t.Helper()
	var ids []string
	for _, i := range instances {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	await(t, soon, func(ctx context.Context) error {
		service, err := b.admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		balancers, err := b.balancersOf(ctx, name)
		if err != nil || len(balancers) != 1 {
			return fmt.Errorf("service %s has %d load balancers, want 1: %w", name, len(balancers), err)
		}
		backends := slices.Clone(balancers[0].Backends)
		slices.Sort(backends)
		ingress := service.Status.LoadBalancer.Ingress
		switch {
		case !slices.Contains(service.Finalizers, serviceFinalizer):
			return fmt.Errorf("service %s has no finalizer", name)
		case len(ingress) != 1 || ingress[0].IP != balancers[0].Address:
			return fmt.Errorf("service %s shows %+v, want %s", name, ingress, balancers[0].Address)
		case !slices.Equal(backends, ids):
			return fmt.Errorf("service %s has backends %v, want %v", name, backends, ids)
		}
		for kind, status := range map[string]metav1.ConditionStatus{"LoadBalancerServing": metav1.ConditionTrue, "LoadBalancerProvisioning": metav1.ConditionFalse} {
			if !slices.ContainsFunc(service.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == status }) {
				return fmt.Errorf("service %s has conditions %+v", name, service.Status.Conditions)
			}
		}
		return nil
	})
}

// awaitGone waits until neither the Service nor a load balancer of its is left.
func (b *bed) awaitGone(t *testing.T, name string) {
	t.Helper()
	await(t, soon, func(ctx context.Context) error {
		_, err := b.admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("service %s is still there: %w", name, err)
		}
		if left, err := b.balancersOf(ctx, name); err != nil || len(left) > 0 {
			return fmt.Errorf("service %s is gone and its load balancer is not: %+v, %w", name, left, err)
		}
		return nil
	})
}

// A Service gets a working address with two writes, follows the nodes, and
// leaves nothing behind (S2, P3).
func TestServiceGetsALoadBalancer(t *testing.T) {
	b := onShared(t)
	first := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	d := b.daemon(t, setup{})
	b.awaitNode(t, first.Name, soon, initialized)
	await(t, soon, func(context.Context) error {
		if slices.Contains(b.metrics(t, d), "fairlead_load_balancer_backends 1") { //nolint:contextcheck // it takes the one of the test
			return nil
		}
		return errors.New("the node is not among the backends yet")
	})
	mark := b.audit(t).mark()
	name := b.balanced(t, "web")
	b.awaitServing(t, name, first)
	writes := b.audit(t).since(mark).ours().where(func(r request) bool { return r.Object.Resource == "services" && r.writes() })
	if err := differ("writes of the Service", []string{"patch services/status", "patch services/status"}, writes.lines()); err != nil {
		t.Error(err)
	}

	if err := b.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	b.awaitServing(t, name, first, second)
	calls, err := b.cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(simulator.UpdateLoadBalancer); n != 1 {
		t.Errorf("%d updates of the load balancer for one node that joined, want 1", n)
	}
	b.deleteService(t, name)
	b.awaitGone(t, name)
}

// What happens while no daemon runs is found by the next one.
func TestServiceChangesWhileTheDaemonIsDown(t *testing.T) {
	b := onShared(t)
	i := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	d := b.daemon(t, setup{})
	deleted, internal := b.balanced(t, "deleted"), b.balanced(t, "internal")
	b.awaitServing(t, deleted, i)
	b.awaitServing(t, internal, i)
	d.kill()
	b.deleteService(t, deleted)
	services := b.admin.CoreV1().Services(metav1.NamespaceDefault)
	if _, err := services.Patch(t.Context(), internal, "application/merge-patch+json", []byte(`{"spec":{"type":"ClusterIP"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.daemon(t, setup{})
	b.awaitGone(t, deleted)
	await(t, soon, func(ctx context.Context) error {
		service, err := services.Get(ctx, internal, metav1.GetOptions{})
		if err != nil {
			return err
		}
		left, err := b.balancersOf(ctx, internal)
		if err != nil || len(left)+len(service.Finalizers)+len(service.Status.LoadBalancer.Ingress)+len(service.Status.Conditions) > 0 {
			return fmt.Errorf("left of the load balancer: %+v, %v, %+v, %w", left, service.Finalizers, service.Status, err)
		}
		return nil
	})
}

// The daemon is killed at each request of a Service's life, before the server
// has it and after the server has carried it out: there is never a second load
// balancer, and nothing is left in the end (S2, S7).
func TestServiceKilledAtEachRequest(t *testing.T) {
	b := onShared(t)
	i := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	api, front := b.apiProxy(t), proxyOf(t, b.cloud)
	ofServices := func(r proxy.Request) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.Path, "/services/")
	}
	ofBalancers := func(r proxy.Request) bool { return strings.Contains(r.Path, "/load-balancers") }
	undisturbed := b.daemon(t, setup{api: api, cloud: front.URL()})
	b.awaitNode(t, i.Name, soon, initialized)
	name := b.balanced(t, "counted")
	b.awaitServing(t, name, i)
	created := map[string]int{"APIServer": len(api.Requests(ofServices)), "Cloud": len(front.Requests(ofBalancers))}
	b.deleteService(t, name)
	b.awaitGone(t, name)
	all := map[string]int{"APIServer": len(api.Requests(ofServices)), "Cloud": len(front.Requests(ofBalancers))}
	t.Logf("requests of a Service's life: %v, of these until it serves: %v", all, created)
	undisturbed.kill()

	for place, total := range all {
		for n := 1; n <= total; n++ {
			for at, point := range map[proxy.Point]string{proxy.Before: "before", proxy.After: "after"} {
				t.Run(fmt.Sprintf("%s/%d/%s", place, n, point), func(t *testing.T) {
					p, match, s := b.apiProxy(t), ofServices, setup{}
					s.api = p
					if place == "Cloud" {
						p, match = proxyOf(t, b.cloud), ofBalancers
						s = setup{cloud: p.URL()}
					}
					trap := p.Trap(match, n, at)
					d := b.daemon(t, s)
					name := b.balanced(t, "killed")
					if n > created[place] {
						b.awaitServing(t, name, i)
						b.deleteService(t, name)
					}
					sprung(t, trap)
					d.kill()
					trap.Cut()
					b.daemon(t, setup{})
					if n <= created[place] {
						b.awaitServing(t, name, i)
						b.deleteService(t, name)
					}
					b.awaitGone(t, name)
				})
			}
		}
	}
}

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

const (
	serviceFinalizer      = "service.kubernetes.io/load-balancer-cleanup"
	serviceSource         = "service-controller" // of our events
	conditionServing      = "LoadBalancerServing"
	conditionProvisioning = "LoadBalancerProvisioning"

	// retriesWithin is for what is tried again after 5, 10 and 20 seconds.
	retriesWithin = time.Minute
)

// services are those that one daemon serves, and the cloud that has their load
// balancers. Several daemons share a bed when each serves a class of its own.
type services struct {
	*bed.Bed

	cloud *bed.Cloud
	class string // of all these Services; empty: none
	// hosts are the instances behind the load balancers.
	hosts []simulator.Instance
}

// servicesOn returns the Services without a class, in the cloud of the bed.
func servicesOn(b *bed.Bed) services { return services{Bed: b, cloud: b.Cloud} }

// newServices returns the Services without a class, in a new cloud that has a few
// Nodes without kubelets.
func newServices(t *testing.T, b *bed.Bed, hosts int) services {
	t.Helper()
	s := services{Bed: b, cloud: b.NewCloudWithoutTraffic(t)}
	for range hosts {
		i, _ := b.Pair(t, s.cloud, simulator.Instance{Name: b.Name("host")})
		s.hosts = append(s.hosts, i)
	}
	return s
}

func (s services) api() typedcorev1.ServiceInterface {
	return s.Admin.CoreV1().Services(metav1.NamespaceDefault)
}

// runs starts a daemon for these Services.
func (s services) runs(t *testing.T, with daemon.Setup) *daemon.Daemon {
	t.Helper()
	return s.Daemon(t, s.of(with))
}

// replicas starts two daemons for them, the leader first.
func (s services) replicas(t *testing.T, with daemon.Setup) (leader, standby replica) {
	t.Helper()
	with.Lease = s.Name("lease")
	mayLeadBy(t, s.Bed, with.Lease)
	return pairOfReplicas(t, s.Bed, s.cloud, s.of(with))
}

// mayLeadBy lets the daemons elect their leader by another lease than that which
// the manifest names.
func mayLeadBy(t *testing.T, b *bed.Bed, lease string) {
	t.Helper()
	meta, rbac := metav1.ObjectMeta{Name: lease}, b.Admin.RbacV1()
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{lease}, Verbs: []string{"get", "update"},
	}}}
	if _, err := rbac.Roles(metav1.NamespaceSystem).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: lease},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: audit.DaemonUser}},
	}
	if _, err := rbac.RoleBindings(metav1.NamespaceSystem).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// of returns the setup of a daemon for these Services. If several daemons share the
// bed, the daemon does not manage Nodes.
func (s services) of(with daemon.Setup) daemon.Setup {
	with.Cloud = cmp.Or(with.Cloud, s.cloud.URL)
	if s.class != "" {
		with.Flags = append([]string{"--controllers=service-lb-controller", "--load-balancer-class=" + s.class}, with.Flags...)
	}
	return with
}

// balanced creates a Service of type LoadBalancer, which ends with the test if
// a daemon lets it.
func (s services) balanced(t *testing.T, base string, edits ...func(*corev1.Service)) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: s.Name(base)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": base}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
	if s.class != "" {
		service.Spec.LoadBalancerClass = &s.class
	}
	for _, edit := range edits {
		edit(service)
	}
	s.create(t, service)
	return service.Name
}

// create creates a Service that ends with the test, whoever holds it.
func (s services) create(t *testing.T, service *corev1.Service) *corev1.Service {
	t.Helper()
	created, err := s.api().Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		err := s.api().Delete(ctx, service.Name, metav1.DeleteOptions{})
		if err == nil {
			err = s.unfinalized(ctx, service.Name)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return created
}

// unfinalized removes all finalizers, as an impatient user does.
func (s services) unfinalized(ctx context.Context, name string) error {
	_, err := s.api().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return err
}

// edit changes a Service as its owner would.
func (s services) edit(t *testing.T, name, body string) {
	t.Helper()
	if _, err := s.api().Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s services) delete(t *testing.T, name string) {
	t.Helper()
	if err := s.api().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// service reads a Service.
func (s services) service(t *testing.T, name string) *corev1.Service {
	t.Helper()
	service, err := s.api().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// balancersOf are the load balancers that the cloud has for Services of this
// name.
func (s services) balancersOf(ctx context.Context, service string) ([]simulator.LoadBalancer, error) {
	all, err := s.cloud.LoadBalancers(ctx)
	return slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool {
		return l.Tags[simulated.TagService] != metav1.NamespaceDefault+"/"+service
	}), err
}

// balancer returns the only load balancer of a Service.
func (s services) balancer(ctx context.Context, service string) (simulator.LoadBalancer, error) {
	all, err := s.balancersOf(ctx, service)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("service %s has %d load balancers, want 1", service, len(all))
	}
	if err != nil {
		return simulator.LoadBalancer{}, err
	}
	return all[0], nil
}

// awaitService waits until check finds nothing wrong with the Service.
func (s services) awaitService(t *testing.T, name string, within time.Duration, check func(*corev1.Service) error) *corev1.Service {
	t.Helper()
	var service *corev1.Service
	expect.Within(t, within, func(ctx context.Context) error {
		var err error
		if service, err = s.api().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(service); err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
		return nil
	})
	return service
}

// awaitServing waits until the Service shows the address of its only load
// balancer, which has exactly these instances as backends, and until neither
// waits for anything.
func (s services) awaitServing(t *testing.T, name string, instances ...simulator.Instance) simulator.LoadBalancer {
	t.Helper()
	return s.awaitServingWithin(t, expect.Soon, name, instances...)
}

func (s services) awaitServingWithin(t *testing.T, within time.Duration, name string, instances ...simulator.Instance) simulator.LoadBalancer {
	t.Helper()
	var l simulator.LoadBalancer
	s.awaitService(t, name, within, func(service *corev1.Service) error {
		var err error
		if l, err = s.balancer(t.Context(), name); err != nil {
			return err
		}
		if !slices.Contains(service.Finalizers, serviceFinalizer) {
			return errors.New("it has no finalizer")
		}
		if ingress := service.Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].IP != l.Address {
			return fmt.Errorf("it shows %+v, want %s", ingress, l.Address)
		}
		return errors.Join(
			expect.Equal("backends", idsOf(instances), l.Backends),
			showing(conditionServing, metav1.ConditionTrue, "Ready")(service),
			showing(conditionProvisioning, metav1.ConditionFalse, "Provisioned")(service),
		)
	})
	return l
}

func idsOf(instances []simulator.Instance) []string {
	ids := []string{}
	for _, i := range instances {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

// awaitGone waits until neither the Service nor a load balancer of its is left.
func (s services) awaitGone(t *testing.T, name string) {
	t.Helper()
	expect.Within(t, retriesWithin, func(ctx context.Context) error {
		service, err := s.api().Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("service %s is still there with %+v: %w", name, service.Status.Conditions, err)
		}
		if left, err := s.balancersOf(ctx, name); err != nil || len(left) > 0 {
			return fmt.Errorf("service %s is gone and its load balancer is not: %+v, %w", name, left, err)
		}
		return nil
	})
}

// awaitInternal waits until nothing of a load balancer is left at a Service of
// another type.
func (s services) awaitInternal(t *testing.T, name string) {
	t.Helper()
	s.awaitService(t, name, expect.Soon, func(service *corev1.Service) error {
		left, err := s.balancersOf(t.Context(), name)
		if err != nil || len(left)+len(service.Finalizers)+len(service.Status.LoadBalancer.Ingress)+len(service.Status.Conditions) > 0 {
			return fmt.Errorf("left of the load balancer: %+v, %v, %+v, %w", left, service.Finalizers, service.Status, err)
		}
		return nil
	})
}

// shown is a condition of a Service; nil if it has none of that type.
func shown(service *corev1.Service, kind string) *metav1.Condition {
	n := slices.IndexFunc(service.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if n < 0 {
		return nil
	}
	return &service.Status.Conditions[n]
}

// showing returns a check for a condition with these words in its message.
func showing(kind string, status metav1.ConditionStatus, reason string, words ...string) func(*corev1.Service) error {
	return func(service *corev1.Service) error {
		c := shown(service, kind)
		switch {
		case c == nil:
			return fmt.Errorf("no condition %s among %+v", kind, service.Status.Conditions)
		case c.Status != status, c.Reason != reason, !expect.HasWords(c.Message, words):
			return fmt.Errorf("condition %s is %s %s: %s; want %s %s and %q in it", kind, c.Status, c.Reason, c.Message, status, reason, words)
		}
		return nil
	}
}

// told returns the events about a Service that the daemon has recorded.
func (s services) told(ctx context.Context, service string) ([]string, error) {
	return s.EventsAbout(ctx, "Service", service, serviceSource)
}

// awaitTold waits for an event about a Service that starts so and has these
// words in it.
func (s services) awaitTold(t *testing.T, service string, within time.Duration, start string, words ...string) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		all, err := s.told(ctx, service)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, start) && expect.HasWords(e, words) }) {
			return fmt.Errorf("service %s: no event %q with %q among %q", service, start, words, all)
		}
		return nil
	})
}

// writesOf returns the daemons' writes about a Service since the mark.
func (s services) writesOf(t *testing.T, mark int64, service string) audit.Requests {
	t.Helper()
	return s.Audit(t).Since(mark).OfDaemons().Writes().Where(func(r audit.Request) bool {
		return r.Object.Resource == "services" && r.Object.Name == service
	})
}

// createdOnce fails the test if the cloud has ever made a second load balancer.
func (s services) createdOnce(t *testing.T) {
	t.Helper()
	if n := s.created(t); n != 1 {
		t.Errorf("%d load balancers were made, want 1", n)
	}
}

// created returns how many load balancers the cloud has created since its calls are
// counted.
func (s services) created(t *testing.T) int64 {
	t.Helper()
	report, err := s.cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, c := range report.Counters {
		if c.Call == simulator.CreateLoadBalancer && (c.Result == simulator.ResultOK || c.Result == simulator.ResultReplyLost) {
			n += c.Count
		}
	}
	return n
}

// misbehaves returns an edit for the creation of a Service. It makes the provider of
// testccm fail for this Service, until behaves is called.
func (s services) misbehaves(t *testing.T, how string) func(*corev1.Service) {
	return func(service *corev1.Service) {
		t.Helper()
		wanted := *misbehaving(how)
		wanted.Name = service.Name
		s.cloud.Instance(t, wanted)
	}
}

func (s services) behaves(t *testing.T, name string) {
	t.Helper()
	found, err := s.cloud.FindInstances(t.Context(), simulator.InstanceQuery{Names: []string{name}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d instances %s, error %v", len(found), name, err)
	}
	s.cloud.Change(t, found[0], simulator.InstancePatch{Labels: map[string]*string{"provider-fault": nil}})
}

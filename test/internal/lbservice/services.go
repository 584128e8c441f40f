// Package lbservice creates Services of type LoadBalancer for one daemon. It compares the
// status and the conditions of the Services with the load balancers of the cloud.
package lbservice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

const (
	// Finalizer keeps a Service until its load balancer is deleted.
	Finalizer = "service.kubernetes.io/load-balancer-cleanup"
	// ConditionServing is the type of the condition that shows whether traffic flows.
	ConditionServing = "LoadBalancerServing"
	// ConditionProvisioning is the type of the condition that shows whether a change is
	// under way.
	ConditionProvisioning = "LoadBalancerProvisioning"

	serviceSource = "service-controller" // the source of the daemon's events about Services

	// RetriesWithin is the timeout for something that is tried again after 5, 10 and 20
	// seconds.
	RetriesWithin = time.Minute
)

// Services describes the Services that one daemon serves, and the cloud with their
// load balancers. Several daemons can share a bed if each serves a class of its own.
type Services struct {
	*bed.Bed

	Cloud *bed.Cloud
	Class string // of all these Services; empty: none
	// Hosts are the instances behind the load balancers.
	Hosts []simulator.Instance
}

// On returns Services without a class. Their load balancers are in the test bed's cloud.
func On(b *bed.Bed) Services { return Services{Bed: b, Cloud: b.Cloud} }

// New returns Services without a class. Their load balancers are in a new cloud. hosts
// is the number of instances that New creates there. Each has a Node, but no kubelet.
func New(t *testing.T, b *bed.Bed, hosts int) Services {
	t.Helper()
	s := Services{Bed: b, Cloud: b.NewCloudWithoutTraffic(t)}
	for range hosts {
		i, _ := b.Pair(t, s.Cloud, simulator.Instance{Name: b.Name("host")})
		s.Hosts = append(s.Hosts, i)
	}
	return s
}

// API returns the client for the namespace of these Services.
func (s Services) API() typedcorev1.ServiceInterface {
	return s.Admin.CoreV1().Services(metav1.NamespaceDefault)
}

// Runs starts a daemon for these Services.
func (s Services) Runs(t *testing.T, with daemon.Setup) *daemon.Daemon {
	t.Helper()
	return s.Daemon(t, s.Of(with))
}

// Replicas starts two daemons for these Services, the leader first.
func (s Services) Replicas(t *testing.T, with daemon.Setup) (leader, standby replicas.Replica) {
	t.Helper()
	with.Lease = s.Name("lease")
	MayLeadBy(t, s.Bed, with.Lease)
	return replicas.Pair(t, s.Bed, s.Cloud, s.Of(with))
}

// MayLeadBy gives the daemons the right to use this Lease for their election. The rights
// in the manifest do not include this Lease.
func MayLeadBy(t *testing.T, b *bed.Bed, lease string) {
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

// Of returns the setup of a daemon for these Services. If the Services have a class, the
// daemon runs only the service controller, because several daemons share the bed.
func (s Services) Of(with daemon.Setup) daemon.Setup {
	with.Cloud = cmp.Or(with.Cloud, s.Cloud.URL)
	if s.Class != "" {
		with.Flags = append([]string{"--controllers=service-lb-controller", "--load-balancer-class=" + s.Class}, with.Flags...)
	}
	return with
}

// Balanced creates a Service of type LoadBalancer, which is deleted at the end of the
// test.
func (s Services) Balanced(t *testing.T, base string, edits ...func(*corev1.Service)) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: s.Name(base)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": base}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
	if s.Class != "" {
		service.Spec.LoadBalancerClass = &s.Class
	}
	for _, edit := range edits {
		edit(service)
	}
	s.create(t, service)
	return service.Name
}

// create creates a Service. At the end of the test, the Service is deleted even if it has
// finalizers.
func (s Services) create(t *testing.T, service *corev1.Service) *corev1.Service {
	t.Helper()
	created, err := s.API().Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		err := s.API().Delete(ctx, service.Name, metav1.DeleteOptions{})
		if err == nil {
			err = s.Unfinalized(ctx, service.Name)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return created
}

// Unfinalized removes all finalizers, as an impatient user does.
func (s Services) Unfinalized(ctx context.Context, name string) error {
	_, err := s.API().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return err
}

// Edit changes a Service as its owner would.
func (s Services) Edit(t *testing.T, name, body string) {
	t.Helper()
	if _, err := s.API().Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Delete deletes a Service, and does not wait until it is gone.
func (s Services) Delete(t *testing.T, name string) {
	t.Helper()
	if err := s.API().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Service reads a Service.
func (s Services) Service(t *testing.T, name string) *corev1.Service {
	t.Helper()
	service, err := s.API().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// BalancersOf returns the load balancers that the cloud has for Services of this
// name.
func (s Services) BalancersOf(ctx context.Context, service string) ([]simulator.LoadBalancer, error) {
	all, err := s.Cloud.LoadBalancers(ctx)
	return slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool {
		return l.Tags[simulated.TagService] != metav1.NamespaceDefault+"/"+service
	}), err
}

// Balancer returns the only load balancer of a Service.
func (s Services) Balancer(ctx context.Context, service string) (simulator.LoadBalancer, error) {
	all, err := s.BalancersOf(ctx, service)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("service %s has %d load balancers, want 1", service, len(all))
	}
	if err != nil {
		return simulator.LoadBalancer{}, err
	}
	return all[0], nil
}

// WritesOf returns the daemons' writes about a Service since the mark.
func (s Services) WritesOf(t *testing.T, mark int64, service string) audit.Requests {
	t.Helper()
	return s.Audit(t).Since(mark).OfDaemons().Writes().Where(func(r audit.Request) bool {
		return r.Object.Resource == "services" && r.Object.Name == service
	})
}

// CreatedOnce fails the test unless the cloud has made exactly one load balancer since
// its calls were last reset.
func (s Services) CreatedOnce(t *testing.T) {
	t.Helper()
	if n := s.created(t); n != 1 {
		t.Errorf("%d load balancers were made, want 1", n)
	}
}

// created returns the number of load balancers that the cloud has created since its
// calls were last reset.
func (s Services) created(t *testing.T) int64 {
	t.Helper()
	report, err := s.Cloud.Calls(t.Context())
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

// Misbehaves returns an edit of a new Service. After this edit, the provider of testccm
// fails for the Service until Behaves is called.
func (s Services) Misbehaves(t *testing.T, how string) func(*corev1.Service) {
	return func(service *corev1.Service) {
		t.Helper()
		wanted := *bed.Misbehaving(how)
		wanted.Name = service.Name
		s.Cloud.Instance(t, wanted)
	}
}

// Behaves ends the effect of Misbehaves.
func (s Services) Behaves(t *testing.T, name string) {
	t.Helper()
	found, err := s.Cloud.FindInstances(t.Context(), simulator.Query{Names: []string{name}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d instances %s, error %v", len(found), name, err)
	}
	s.Cloud.Change(t, found[0], simulator.InstancePatch{Labels: map[string]*string{"provider-fault": nil}})
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// A provider can return ImplementedElsewhere, wrapped or not. That is not a failure.
// The status that the other controller writes stays.
func testProvidedElsewhere(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	s.Runs(t, daemon.Setup{Provider: "modern"})
	for n, how := range []string{"elsewhere", "elsewhere-wrapped"} {
		mark := b.Audit(t).Mark()
		name := s.Balanced(t, how, s.Misbehaves(t, how))
		settled := s.AwaitService(t, name, expect.Soon, func(service *corev1.Service) error {
			return errors.Join(expect.Equal("finalizers", []string{lbservice.Finalizer}, service.Finalizers), expect.Equal("conditions", 0, len(service.Status.Conditions)))
		})
		if n > 0 { // The daemon knows the provider's answer from the first Service, so it writes only the finalizer.
			expect.Within(t, expect.Soon, func(context.Context) error { // A write can reach the audit log after its effect is visible.
				return expect.Equal("writes", []string{"patch services/status"}, s.WritesOf(t, mark, name).Lines())
			})
		}
		settled.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: theirs}}
		if _, err := s.API().UpdateStatus(t.Context(), settled, metav1.UpdateOptions{FieldManager: "theirs"}); err != nil {
			t.Fatal(err)
		}
		s.Edit(t, name, `{"metadata":{"annotations":{"a":"b"}}}`)
		s.AwaitTold(t, name, expect.Soon, "Normal EnsuringLoadBalancer")
		passes(t, s)
		if now := s.Service(t, name); len(now.Status.Conditions) > 0 || len(now.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("status %+v, want the other controller's", now.Status)
		}
		told, err := s.Told(t.Context(), name)
		if err != nil || expect.CountPrefix(told, "Normal EnsuringLoadBalancer") != len(told) {
			t.Errorf("events %q, error %v, want only EnsuringLoadBalancer", told, err)
		}
		s.Delete(t, name)
		s.AwaitGone(t, name)
	}
}

// Another controller keeps rewriting the address of a Service. The daemon puts the
// address back once, and an event names the other controller. Other changes of the
// Service still reach the cloud (S4).
func testContestedStatus(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "contested")
	s.AwaitServing(t, name, s.Hosts...)
	mark := b.Audit(t).Mark()
	rival := fights(t, s, name)
	s.AwaitTold(t, name, expect.Soon, "Warning LoadBalancerStatusContested", "status", "field manager: rival")
	rival.awaitBlows(t, 20)
	s.Edit(t, name, `{"spec":{"ports":[{"port":81}]}}`)
	expect.Within(t, expect.Soon, func(ctx context.Context) error { return hasPort(ctx, s, name, 81) })
	rival.awaitBlows(t, 20)
	rival.stop()
	repairs := s.WritesOf(t, mark, name).Where(func(r audit.Request) bool { return expect.HasWords(string(r.Body), []string{"ingress"}) })
	if len(repairs) != 1 {
		t.Errorf("the address was put back %d times, want once in 5 minutes: %v", len(repairs), repairs)
	}
	told, err := s.Told(t.Context(), name)
	if err != nil || expect.CountPrefix(told, "Warning LoadBalancerStatusContested") != 1 {
		t.Errorf("events %q, error %v, want one event about the contested status", told, err)
	}
	s.Delete(t, name)
	s.AwaitGone(t, name)
}

// rival is a controller that writes another address into a Service.
type rival struct {
	mu    sync.Mutex
	blows int // guarded by mu
	stop  func()
}

// fights starts a rival, which rewrites the address until stop is called.
func fights(t *testing.T, s lbservice.Services, name string) *rival {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var r rival
	var fighting sync.WaitGroup
	fighting.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			body := fmt.Appendf(nil, `{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.%d"}]}}}`, n%250+1)
			_, err := s.API().Patch(ctx, name, "application/merge-patch+json", body, metav1.PatchOptions{FieldManager: "rival"}, "status")
			if err != nil && ctx.Err() == nil {
				t.Errorf("the rival: %v", err)
				return
			}
			r.mu.Lock()
			r.blows++
			r.mu.Unlock()
		}
	})
	r.stop = func() { cancel(); fighting.Wait() }
	t.Cleanup(r.stop)
	return &r
}

// awaitBlows waits until the rival has written this many more times.
func (r *rival) awaitBlows(t *testing.T, more int) {
	t.Helper()
	now := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.blows
	}
	before := now()
	expect.Within(t, expect.Soon, func(context.Context) error {
		if n := now() - before; n < more {
			return fmt.Errorf("the rival has struck %d times more", n)
		}
		return nil
	})
}

// If somebody else removes the finalizer, the daemon puts it back. If somebody
// removes it again, the daemon does not put it back at once. The load balancer is
// still deleted with the Service (S2, S4).
func testContestedFinalizer(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "unfinalized")
	s.AwaitServing(t, name, s.Hosts...)
	unfinalize := func() {
		if err := s.Unfinalized(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	unfinalize()
	s.AwaitServing(t, name, s.Hosts...)
	s.AwaitTold(t, name, expect.Soon, "Warning LoadBalancerStatusContested", "finalizer")
	unfinalize()
	passes(t, s)
	if now := s.Service(t, name); len(now.Finalizers) > 0 {
		t.Errorf("finalizers %v a moment after they were put back before", now.Finalizers)
	}
	s.Delete(t, name)
	s.AwaitGone(t, name)
}

// The account has no room for a second load balancer. The Service shows this, and is
// served once there is room.
func testQuotaIsExhausted(t *testing.T, b *bed.Bed) {
	file, port := filepath.Join(t.TempDir(), "cloud.json"), daemon.FreePort(t)
	account := func(room int) []string {
		return []string{fmt.Sprintf("--max-load-balancers=%d", room), "--state-file=" + file, fmt.Sprintf("--listen=127.0.0.1:%d", port)}
	}
	s := newClass(t, b, account(1)...)
	s.Runs(t, daemon.Setup{})
	first := s.Balanced(t, "first")
	s.AwaitServing(t, first, s.Hosts...)
	second := s.Balanced(t, "second")
	s.AwaitService(t, second, expect.Soon, lbservice.Showing(lbservice.ConditionServing, metav1.ConditionFalse, "NotProvisioned", "Have the quota raised", "quota is 1", "The call is retried"))
	s.AwaitTold(t, second, expect.Soon, "Warning SyncLoadBalancerFailed", "quota is 1")
	if err := s.Cloud.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Cloud = b.NewCloudWithoutTraffic(t, account(2)...)
	s.AwaitServingWithin(t, lbservice.RetriesWithin, second, s.Hosts...)
	s.AwaitServing(t, first, s.Hosts...)
}

// If a provider panics, only this call fails, and the Service shows the failure.
// After a change of the Service, the daemon calls the provider again at once. When
// the provider has panicked for Services of three namespaces, the process exits so
// that the kubelet restarts it (S8).
func testProviderPanics(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	with := daemon.Setup{Provider: "modern"}
	d := s.Runs(t, with)
	name := s.Balanced(t, "panics", s.Misbehaves(t, "panic"))
	s.AwaitService(t, name, expect.Soon, lbservice.Showing(lbservice.ConditionServing, metav1.ConditionFalse, "NotProvisioned", "has panicked", "bug in the provider"))
	s.AwaitTold(t, name, expect.Soon, "Warning SyncLoadBalancerFailed", "a bug of the provider")
	passes(t, s)
	before := d.CountLogged("The provider panicked") // More than one on a machine that has needed a minute until here.
	s.Edit(t, name, `{"metadata":{"annotations":{"changed":"true"}}}`)
	expect.Within(t, expect.Soon, func(context.Context) error {
		if n := d.CountLogged("The provider panicked"); n != before+1 {
			return fmt.Errorf("the provider has panicked %d times, want once more for the Service that has changed", n)
		}
		return nil
	})
	odd := []string{name}
	for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespacePublic} {
		odd = append(odd, panicsIn(t, s, namespace))
	}
	if code := d.AwaitExit(t, expect.Soon); code != 1 {
		t.Errorf("the daemon has ended with code %d, want 1", code)
	}
	for _, name := range odd {
		s.Behaves(t, name)
	}
	s.Runs(t, with)
	s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...)
}

// panicsIn creates a Service for which the provider panics, in this namespace. It
// returns the name of the Service.
func panicsIn(t *testing.T, s lbservice.Services, namespace string) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.Name("panics")},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &s.Class, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	s.Misbehaves(t, "panic")(service)
	api := s.Admin.CoreV1().Services(namespace)
	if _, err := api.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		if err := api.Delete(ctx, service.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		_, err := api.Patch(ctx, service.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return service.Name
}

// A provider that returns neither a status nor an error has failed.
func testProviderReturnsNil(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	s.Runs(t, daemon.Setup{Provider: "modern"})
	name := s.Balanced(t, "nil", s.Misbehaves(t, "nil"))
	s.AwaitService(t, name, expect.Soon, lbservice.Showing(lbservice.ConditionServing, metav1.ConditionFalse, "NotProvisioned", "service status returned by EnsureLoadBalancer is nil"))
	s.Behaves(t, name)
	s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...)
}

// A call that hangs beyond its deadline blocks only its own Service. The blocked
// Service says so. Until the call returns, no second call is made for that Service
// (S3).
func testProviderHangs(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	d := s.Runs(t, daemon.Setup{Provider: "modern", Flags: []string{"--cloud-mutation-timeout=10s", "--concurrent-service-syncs=2"}}) // A busy machine needs seconds for the calls of the other Services.
	name := s.Balanced(t, "hangs", s.Misbehaves(t, "ignores-context"))
	s.AwaitTold(t, name, lbservice.RetriesWithin, "Warning SyncLoadBalancerFailed", "after its deadline")
	s.AwaitTold(t, name, expect.Soon, "Warning SyncLoadBalancerFailed", "which began at", "has not returned")
	passes(t, s)
	s.Delete(t, s.Balanced(t, "beside"))
	if n := d.CountLogged("Ignores its context from now on", name); n != 1 {
		t.Errorf("the provider was called %d times, want no call beside the one that hangs", n)
	}
	s.Behaves(t, name)
	s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...)
	if d.Ended() {
		t.Errorf("the daemon has ended with code %d", d.Code())
	}
}

// A provider hangs for ever while it holds a mutex that it needs for all Services. When
// the number of hanging calls reaches its limit, the process exits so that the kubelet
// restarts it (S8). The next process serves the Services.
func testProviderHangsForAll(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	first := s.Balanced(t, "hangs")
	with := daemon.Setup{Provider: "modern", Flags: []string{"--concurrent-service-syncs=20"}}
	hanging := with
	hanging.Settings = "quirks: [HangsFor=" + first + "]\n"
	hanging.Flags = append([]string{"--cloud-mutation-timeout=1s"}, with.Flags...)
	d := s.Runs(t, hanging)
	s.AwaitTold(t, first, expect.Soon, "Warning SyncLoadBalancerFailed", "after its deadline")
	for range 17 {
		s.Balanced(t, "behind")
	}
	if code := d.AwaitExit(t, time.Minute); code != 1 {
		t.Errorf("the daemon has ended with code %d, want 1", code)
	}
	if !d.Logged("16 changes have not returned", "after their deadline") {
		t.Errorf("the log does not say why: %s", d.Tail(5))
	}
	s.Runs(t, with)
	s.AwaitServingWithin(t, lbservice.RetriesWithin, first, s.Hosts...)
}

// Two clusters share one account. A daemon touches only the load balancers of its own
// cluster's Services. Their tags name the cluster and the UID of the Service. The daemon
// leaves a load balancer alone if only one of these tags is right.
func testTwoClustersInOneAccount(t *testing.T, b *bed.Bed) {
	one := newClass(t, b)
	two := one
	two.Class += "-too"
	d := one.Runs(t, daemon.Setup{Flags: []string{"--cluster-name=one"}})
	two.Runs(t, daemon.Setup{Flags: []string{"--cluster-name=two"}})
	mine, yours := one.Balanced(t, "mine"), two.Balanced(t, "yours")
	one.AwaitServing(t, mine, one.Hosts...)
	two.AwaitServing(t, yours, two.Hosts...)
	uid := string(one.Service(t, mine).UID)
	for n, tags := range []map[string]string{
		{simulated.TagCluster: "two", simulated.TagServiceUID: uid},
		{simulated.TagCluster: "one", simulated.TagServiceUID: "another"},
		{simulated.TagServiceUID: uid},
		{simulated.TagCluster: "one"},
	} {
		l := simulator.LoadBalancer{Name: fmt.Sprintf("decoy-%d", n), Tags: tags, Listeners: []simulator.Listener{{Protocol: simulator.TCP, Port: 80, BackendPort: 30080}}}
		if _, err := one.Cloud.CreateLoadBalancer(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	others := func() []simulator.LoadBalancer {
		all, err := one.Cloud.LoadBalancers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool { return l.Tags[simulated.TagService] == "default/"+mine })
	}
	before := others()
	d.Kill()
	one.Runs(t, daemon.Setup{Flags: []string{"--cluster-name=one"}})
	one.Edit(t, mine, `{"spec":{"ports":[{"port":81}]}}`)
	expect.Within(t, expect.Soon, func(ctx context.Context) error { return hasPort(ctx, one, mine, 81) })
	one.Delete(t, mine)
	one.AwaitGone(t, mine)
	if diff := cmp.Diff(before, others()); diff != "" {
		t.Errorf("load balancers of others (-before +now):\n%s", diff)
	}
}

// Somebody deletes a load balancer in the cloud, or changes it there. The periodic
// comparison with the cloud repairs this.
func testDriftIsFound(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	s.Runs(t, daemon.Setup{Flags: []string{"--service-resync-period=1m"}})
	const compared = 2 * time.Minute
	name := s.Balanced(t, "drift")
	l := s.AwaitServing(t, name, s.Hosts...)
	if _, err := s.Cloud.UpdateLoadBalancer(t.Context(), l.ID, simulator.LoadBalancerPatch{Backends: []string{}}); err != nil {
		t.Fatal(err)
	}
	s.AwaitServingWithin(t, compared, name, s.Hosts...)
	if err := s.Cloud.DeleteLoadBalancer(t.Context(), l.ID); err != nil {
		t.Fatal(err)
	}
	if now := s.AwaitServingWithin(t, compared, name, s.Hosts...); now.ID == l.ID {
		t.Errorf("load balancer %s is there again", l.ID)
	}
	told, err := s.Told(t.Context(), name)
	if err != nil || expect.CountPrefix(told, "Warning") > 0 {
		t.Errorf("events %q, error %v", told, err)
	}
}

// A Service is deleted by force and recreated with the same name. Meanwhile the daemon is
// stopped, or the old load balancer cannot be deleted. The new Service waits until the
// old load balancer is deleted, and says why it waits. In the end, nothing is left of the
// old Service.
func testRecreatedUnderItsName(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	d := s.Runs(t, daemon.Setup{Flags: []string{"--cloud-mutation-timeout=10s"}}) // A busy machine needs seconds for calls that do not hang.
	for _, kind := range []simulator.FaultKind{"", simulator.FaultError, simulator.FaultHang} {
		t.Run("Fault"+string(kind), func(t *testing.T) {
			name := s.Balanced(t, "recreated")
			old := s.AwaitServing(t, name, s.Hosts...)
			if kind == "" {
				d.Signal(syscall.SIGSTOP)
			} else {
				s.Cloud.Fail(t, simulator.Fault{Name: name, Kind: kind, Match: old.ID, Calls: []simulator.Call{simulator.DeleteLoadBalancer}})
			}
			s.Delete(t, name)
			if kind != "" {
				awaitHit(t, s, name)
			}
			if err := s.Unfinalized(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			s.Balanced(t, "recreated", func(service *corev1.Service) { service.Name = name })
			if kind == "" {
				d.Signal(syscall.SIGCONT)
			} else {
				s.AwaitService(t, name, expect.Soon, lbservice.Showing(lbservice.ConditionServing, metav1.ConditionFalse, "NotProvisioned", "previous Service of this name"))
				if err := s.Cloud.ClearFault(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			if now := s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...); now.ID == old.ID || now.Tags[simulated.TagServiceUID] == old.Tags[simulated.TagServiceUID] {
				t.Errorf("the new Service has the load balancer of the old one: %+v", now)
			}
			s.Delete(t, name)
			s.AwaitGone(t, name)
		})
	}
}

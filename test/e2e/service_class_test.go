package e2e

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

const (
	foreign = "example.com/theirs" // a class that no daemon of these tests serves
	// theirs is the address that the controller of this class gives.
	theirs = "198.51.100.7"
)

// belongsToOthers creates a Service of another class. Like a Service that another
// controller has served, it has upstream's finalizer and the conditions of KEP-4631.
func belongsToOthers(t *testing.T, s lbservice.Services, base string) *corev1.Service {
	t.Helper()
	name := s.Balanced(t, base, inClass(foreign), func(service *corev1.Service) { service.Finalizers = []string{lbservice.Finalizer} })
	service := s.Service(t, name)
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: theirs}}
	for kind, status := range map[string]metav1.ConditionStatus{lbservice.ConditionServing: metav1.ConditionTrue, lbservice.ConditionProvisioning: metav1.ConditionFalse} {
		service.Status.Conditions = append(service.Status.Conditions,
			metav1.Condition{Type: kind, Status: status, Reason: "Theirs", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))})
	}
	service, err := s.API().UpdateStatus(t.Context(), service, metav1.UpdateOptions{FieldManager: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// untouched fails the test if the daemon has done anything about the Service.
func untouched(t *testing.T, s lbservice.Services, mark int64, before *corev1.Service) {
	t.Helper()
	now := s.Service(t, before.Name)
	if err := errors.Join(expect.Equal("finalizers", before.Finalizers, now.Finalizers), expect.Equal("status", before.Status, now.Status)); err != nil {
		t.Errorf("service %s: %v", before.Name, err)
	}
	if writes := s.WritesOf(t, mark, before.Name); len(writes) > 0 {
		t.Errorf("service %s was written: %v", before.Name, writes)
	}
	told, err := s.Told(t.Context(), before.Name)
	if err != nil || len(told) > 0 {
		t.Errorf("service %s: events %q, error %v", before.Name, told, err)
	}
}

// passes creates a Service and waits until it is served. By then the daemon has
// seen everything that happened earlier.
func passes(t *testing.T, s lbservice.Services) {
	t.Helper()
	s.AwaitServing(t, s.Balanced(t, "later"), s.Hosts...)
}

// A daemon never touches a Service of another class, not even to clean up (S4). This
// is also true if the Service is changed or deleted, and for a daemon that starts
// later. The daemon serves all classes in --load-balancer-class.
func TestServiceOfAnotherClass(t *testing.T) {
	b := onShared(t)
	s := lbservice.New(t, b, 2)
	alive, deleted := belongsToOthers(t, s, "alive"), belongsToOthers(t, s, "deleted")
	bare := s.Service(t, s.Balanced(t, "bare", inClass(foreign)))
	mark := b.Audit(t).Mark()
	d := s.Runs(t, daemon.Setup{Flags: []string{"--load-balancer-class=e2e/a,e2e/b"}})
	for _, class := range []string{"e2e/a", "e2e/b"} {
		s.AwaitServing(t, s.Balanced(t, "ours", inClass(class)), s.Hosts...)
	}
	passes(t, s)

	s.Edit(t, alive.Name, `{"metadata":{"annotations":{"a":"b"}},"spec":{"ports":[{"port":81}]}}`)
	s.Delete(t, deleted.Name)
	s.Delete(t, bare.Name)
	passes(t, s)
	d.Kill()
	s.Runs(t, daemon.Setup{})
	passes(t, s)
	untouched(t, s, mark, alive)
	untouched(t, s, mark, deleted)
	for _, service := range []*corev1.Service{alive, deleted, bare} {
		if left, err := s.BalancersOf(t.Context(), service.Name); err != nil || len(left) > 0 {
			t.Errorf("the cloud has load balancers for service %s: %+v, error %v", service.Name, left, err)
		}
	}
}

// A Service of another class becomes internal. The API server then removes the class. The
// finalizer still belongs to the other controller.
func TestServiceOfAnotherClassBecomesInternal(t *testing.T) {
	b := onShared(t)
	s := lbservice.New(t, b, 2)
	s.Runs(t, daemon.Setup{})
	passes(t, s)
	mark := b.Audit(t).Mark()
	before := belongsToOthers(t, s, "internal")
	s.Edit(t, before.Name, `{"spec":{"type":"ClusterIP"}}`)
	s.Edit(t, before.Name, `{"metadata":{"annotations":{"a":"b"}}}`)
	passes(t, s)
	now := s.Service(t, before.Name)
	if now.Spec.LoadBalancerClass != nil {
		t.Fatalf("class %s of an internal Service, want none", *now.Spec.LoadBalancerClass)
	}
	before.Status.LoadBalancer = now.Status.LoadBalancer // The API server clears it.
	untouched(t, s, mark, before)

	// A Service of type LoadBalancer without a class is ours.
	s.Edit(t, before.Name, `{"spec":{"type":"LoadBalancer"}}`)
	s.AwaitServing(t, before.Name, s.Hosts...)
}

// A Service can get another class only while its type is not LoadBalancer. When the
// Service has another class, the daemon deletes its load balancer. That happens
// even if the daemon never saw the other type.
func TestServiceIsGivenToAnotherClass(t *testing.T) {
	s := lbservice.New(t, onShared(t), 2)
	d := s.Runs(t, daemon.Setup{})
	at := map[string]string{}
	for _, when := range []string{"Unseen", "WhileItIsDeleted", "WhileTheDeletionFails", "BetweenTwoProcesses"} {
		at[when] = s.Balanced(t, "taken")
		s.AwaitServing(t, at[when], s.Hosts...)
	}
	_, err := s.API().Patch(t.Context(), at["Unseen"], types.MergePatchType, []byte(`{"spec":{"loadBalancerClass":"`+foreign+`"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("error %v, want the API server to keep the class", err)
	}
	takeOver := func(t *testing.T, name string) {
		s.Edit(t, name, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"`+foreign+`"}}`)
	}
	internal := `{"spec":{"type":"ClusterIP"}}`

	t.Run("Unseen", func(t *testing.T) {
		d.Signal(syscall.SIGSTOP)
		s.Edit(t, at["Unseen"], internal)
		takeOver(t, at["Unseen"])
		d.Signal(syscall.SIGCONT)
		awaitReleased(t, s, at["Unseen"])
	})
	for when, kind := range map[string]simulator.FaultKind{"WhileItIsDeleted": simulator.FaultHang, "WhileTheDeletionFails": simulator.FaultOutage} {
		t.Run(when, func(t *testing.T) {
			l, err := s.Balancer(t.Context(), at[when])
			if err != nil {
				t.Fatal(err)
			}
			fault := simulator.Fault{Name: at[when], Kind: kind, Match: l.ID, Calls: []simulator.Call{simulator.DeleteLoadBalancer}}
			s.Cloud.Fail(t, fault)
			s.Edit(t, at[when], internal)
			awaitHit(t, s, fault.Name)
			takeOver(t, at[when])
			if err := s.Cloud.ClearFault(t.Context(), fault.Name); err != nil {
				t.Fatal(err)
			}
			awaitReleased(t, s, at[when])
		})
	}
	// Only the object shows the next process whose load balancer it is.
	t.Run("BetweenTwoProcesses", func(t *testing.T) {
		d.Kill()
		s.Edit(t, at["BetweenTwoProcesses"], internal)
		takeOver(t, at["BetweenTwoProcesses"])
		s.Runs(t, daemon.Setup{})
		awaitReleased(t, s, at["BetweenTwoProcesses"])
	})
}

// One daemon serves a class and another serves Services without a class. While
// neither daemon runs, one Service of each daemon becomes internal, and so loses
// its class. Later, each daemon cleans up after its own Service, and leaves the
// other daemon's Service alone.
func TestServicesWithoutClassAreLeftToOthers(t *testing.T) {
	const class, annotation = "e2e/a", "fairlead.dev/load-balancer-class"
	b := onShared(t)
	s := lbservice.New(t, b, 2)
	only, all := daemon.Setup{Flags: []string{"--load-balancer-class=" + class + ",-"}}, daemon.Setup{}
	classes := s.Runs(t, only)
	passed, bare := s.Balanced(t, "passed", inClass(class)), s.Balanced(t, "bare")
	s.AwaitServing(t, passed, s.Hosts...)
	if service := s.Service(t, bare); len(service.Finalizers)+len(service.Status.Conditions) > 0 {
		t.Errorf("the Service without a class has the finalizers %v and %+v", service.Finalizers, service.Status.Conditions)
	}
	others := s.Runs(t, all)
	s.AwaitServing(t, bare, s.Hosts...)
	for name, want := range map[string]string{passed: class, bare: "-"} {
		if got := s.Service(t, name).Annotations[annotation]; got != want {
			t.Errorf("annotation %q of %s, want %q", got, name, want)
		}
	}
	classes.Kill()
	others.Kill()
	for _, name := range []string{passed, bare} {
		s.Edit(t, name, `{"spec":{"type":"ClusterIP"}}`)
	}

	mark := b.Audit(t).Mark()
	released := func(name string) {
		t.Helper()
		s.AwaitService(t, name, lbservice.RetriesWithin, func(service *corev1.Service) error {
			left, err := s.BalancersOf(t.Context(), name)
			return errors.Join(err, expect.Equal("load balancers", 0, len(left)), expect.Equal("annotation", "", service.Annotations[annotation]),
				expect.Equal("finalizers", 0, len(service.Finalizers)), expect.Equal("conditions", 0, len(service.Status.Conditions)))
		})
	}
	others = s.Runs(t, all)
	released(bare)
	passes(t, s)
	if left, err := s.BalancersOf(t.Context(), passed); err != nil || len(left) != 1 {
		t.Errorf("load balancers %+v of the Service of the class, error %v, want one", left, err)
	}
	if writes := s.WritesOf(t, mark, passed); len(writes) > 0 {
		t.Errorf("the Service of the class was written: %v", writes)
	}
	others.Kill()
	s.Runs(t, only)
	released(passed)
}

// awaitHit waits until a fault has hit a call.
func awaitHit(t *testing.T, s lbservice.Services, name string) {
	t.Helper()
	expect.Within(t, lbservice.RetriesWithin, func(ctx context.Context) error {
		all, err := s.Cloud.Faults(ctx)
		if err != nil || !slices.ContainsFunc(all, func(f simulator.Fault) bool { return f.Name == name && f.Hits > 0 }) {
			return errors.Join(errors.New("the fault has not hit"), err)
		}
		return nil
	})
}

// awaitReleased is for a Service that now belongs to another controller. It waits until
// the daemon has left nothing in the cloud and nothing on the Service. Then it checks
// that the daemon leaves the Service alone.
func awaitReleased(t *testing.T, s lbservice.Services, name string) {
	t.Helper()
	released := s.AwaitService(t, name, lbservice.RetriesWithin, func(service *corev1.Service) error {
		left, err := s.BalancersOf(t.Context(), name)
		return errors.Join(err, expect.Equal("load balancers", 0, len(left)),
			expect.Equal("finalizers", 0, len(service.Finalizers)), expect.Equal("conditions", 0, len(service.Status.Conditions)))
	})
	// The write that has released the Service might reach the audit log after the mark.
	// So only writes from now on count.
	mark, began := s.Audit(t).Mark(), time.Now()
	released.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: theirs}}
	if _, err := s.API().UpdateStatus(t.Context(), released, metav1.UpdateOptions{FieldManager: "theirs"}); err != nil {
		t.Fatal(err)
	}
	passes(t, s)
	if now := s.Service(t, name).Status.LoadBalancer.Ingress; len(now) != 1 || now[0].IP != theirs {
		t.Errorf("the other controller's address is gone: %s", cmp.Diff(released.Status.LoadBalancer.Ingress, now))
	}
	later := func(r audit.Request) bool { return r.Time.After(began) }
	if writes := s.WritesOf(t, mark, name).Where(later); len(writes) > 0 {
		t.Errorf("the Service was written: %v", writes)
	}
}

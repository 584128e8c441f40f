package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestImplementedElsewhereIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(string) error {
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Hour)
		l.expect("elsewhere", list("ensure s"), list("s EnsuringLoadBalancer"))
		if s := l.service(); len(s.Status.Conditions) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("status %+v, want it to be left to somebody else", s.Status)
		}
	})
}

func TestNoConditionIsWrittenIfSomebodyElseProvides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(call string) error {
				if call == "ensure flaky" {
					return errors.New("no")
				}
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Minute)
		for _, name := range []string{"flaky", "new"} { // the failure of one Service must not affect the next one
			l.create(balanced(named(name)))
			l.after(2 * time.Second)
		}
		patches := 0
		for _, action := range l.cluster.Actions() {
			if patch, ok := action.(clienttesting.PatchAction); ok && patch.GetName() == "new" {
				patches++
			}
		}
		if patches != 1 {
			t.Errorf("%d patches for a new Service, want that of the finalizer", patches)
		}
	})
}

func TestServiceThatIsRecreatedLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if err := l.cluster.CoreV1().Services("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil { // by force: the finalizer is ignored
			t.Fatal(err)
		}
		l.create(balanced(replaced))
		l.after(time.Minute)
		if len(l.balancers) != 1 || l.balancers["u2"] == nil {
			t.Errorf("load balancers %v, want that of the new Service alone", l.balancers)
		}
	})
}

func TestServiceOfAnotherClassIsLeftAloneWhenItBecomesInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(held, class("theirs")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.update(internal, unclassed)
		l.after(time.Hour)
		l.expect("internal", nil, nil)
		if s := l.service(); !hasFinalizer(s) || l.patches() > 0 {
			t.Errorf("finalizers %v after %d patches, want those of the other controller", s.Finalizers, l.patches())
		}
		l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(internal)
		l.after(time.Minute)
		if s := l.service(); hasFinalizer(s) || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %v", s.Finalizers, l.balancers)
		}
	})
}

func TestServiceThatIsGivenToAnotherClassLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(class("theirs"), func(s *corev1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "198.51.100.7" })
		l.after(time.Hour)
		l.expect("given away", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		if s := l.service(); hasFinalizer(s) || len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status.Conditions, l.balancers)
		}
		if s := l.service(); len(s.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("status %+v, want the other controller's address", s.Status)
		}
	})
}

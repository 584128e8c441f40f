package e2e

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// A daemon starts behind an API server whose watch cache lags. It sees a Service that is
// being deleted, although the name has been used again. A provider that finds load
// balancers by name would remove the one of the new Service (S2 c).
func TestServiceOfThePastIsNotCleanedUp(t *testing.T) {
	b := onShared(t)
	s := lbservice.New(t, b, 2)
	first := s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "again")
	s.AwaitServing(t, name, s.Hosts...)
	first.Kill()
	s.Delete(t, name)
	list, err := s.API().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	second := s.Runs(t, daemon.Setup{})
	s.AwaitGone(t, name)
	s.Balanced(t, "", func(service *corev1.Service) { service.Name = name })
	newer := s.AwaitServing(t, name, s.Hosts...)
	second.Kill()

	api := b.BeforeAPIServer(t)
	present := api.Past("/api/v1/services", list.ResourceVersion)
	defer present()
	third := s.Runs(t, daemon.Setup{API: api})
	expect.Within(t, expect.Soon, func(context.Context) error {
		if third.CountLogged("Cached Service is older", name) < 2 {
			return errors.New("the daemon has not looked twice at the Service of the past")
		}
		return nil
	})
	if third.Logged("Load balancer call", name) {
		t.Error("the provider was called about a Service that is gone")
	}
	present()
	if now := s.AwaitServing(t, name, s.Hosts...); now.ID != newer.ID {
		t.Errorf("load balancer %s, want still %s", now.ID, newer.ID)
	}
	s.Edit(t, name, `{"metadata":{"annotations":{"a":"b"}}}`)
	third.AwaitLogged(t, "Load balancer call succeeded", name)
}

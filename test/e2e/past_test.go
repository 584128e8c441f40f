package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// A daemon starts behind an API server whose watch cache lags. There a Service is being
// deleted whose name has been used again, and a Node is missing. A provider that finds load
// balancers by name would remove the one of the new Service, and take it the Node (S2 c).
func TestDaemonBehindAnAPIServerOfThePast(t *testing.T) {
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
	joined, _ := b.Pair(t, s.Cloud, simulator.Instance{Name: b.Name("host")})
	s.Hosts = append(s.Hosts, joined)
	s.Balanced(t, "", func(service *corev1.Service) { service.Name = name })
	newer := s.AwaitServing(t, name, s.Hosts...)
	second.Kill()

	const services, nodes = "/api/v1/services", "/api/v1/nodes"
	for row, collections := range map[string][]string{"Service": {services}, "Node": {nodes}, "Both": {services, nodes}} {
		t.Run(row, func(t *testing.T) {
			api := b.BeforeAPIServer(t)
			defer api.Past(list.ResourceVersion, collections...)()
			next := s.Runs(t, daemon.Setup{API: api})
			next.AwaitLogged(t, "Load balancer call succeeded", name)
			if now := s.AwaitServing(t, name, s.Hosts...); now.ID != newer.ID {
				t.Errorf("load balancer %s, want still %s", now.ID, newer.ID)
			}
			next.Kill()
		})
	}
}

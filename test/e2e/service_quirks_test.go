package e2e

import (
	"context"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// A provider that finds the load balancer to delete only by the address in the
// status deletes each, however its Service ends (S2).
func TestLoadBalancerIsFoundByItsAddress(t *testing.T) {
	s := newServices(t, onShared(t), 2)
	s.runs(t, daemon.Setup{Provider: "modern", Settings: "quirks: [DeletesByAddress]\n"})
	ends := map[string]func(name string){
		"deleted": func(name string) { s.delete(t, name) },
		"forced": func(name string) {
			if err := s.unfinalized(t.Context(), name); err != nil {
				t.Error(err)
			}
			s.delete(t, name)
		},
		"internal": func(name string) { s.edit(t, name, `{"spec":{"type":"ClusterIP"}}`) },
		"given": func(name string) {
			s.edit(t, name, `{"spec":{"type":"ClusterIP"}}`)
			s.edit(t, name, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"`+foreign+`"}}`)
		},
	}
	named := map[string]string{}
	for how := range ends {
		named[how] = s.balanced(t, how)
		s.awaitServing(t, named[how], s.hosts...)
	}
	for how, end := range ends {
		end(named[how])
	}
	for how, name := range named {
		expect.Within(t, retriesWithin, func(ctx context.Context) error {
			left, err := s.balancersOf(ctx, name)
			if err != nil {
				return err
			}
			return expect.Equal("load balancers of the Service that was "+how, 0, len(left))
		})
	}
}

package e2e

import (
	"context"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// A provider can delete a load balancer only if the Service's status has its address.
// Each load balancer is deleted nevertheless, no matter how its Service ends (S2).
func TestLoadBalancerIsFoundByItsAddress(t *testing.T) {
	s := lbservice.New(t, onShared(t), 2)
	s.Runs(t, daemon.Setup{Provider: "modern", Settings: "quirks: [DeletesByAddress]\n"})
	ends := map[string]func(name string){
		"deleted": func(name string) { s.Delete(t, name) },
		"forced": func(name string) {
			if err := s.Unfinalized(t.Context(), name); err != nil {
				t.Error(err)
			}
			s.Delete(t, name)
		},
		"internal": func(name string) { s.Edit(t, name, `{"spec":{"type":"ClusterIP"}}`) },
		"given": func(name string) {
			s.Edit(t, name, `{"spec":{"type":"ClusterIP"}}`)
			s.Edit(t, name, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"`+foreign+`"}}`)
		},
	}
	named := map[string]string{}
	for how := range ends {
		named[how] = s.Balanced(t, how)
		s.AwaitServing(t, named[how], s.Hosts...)
	}
	for how, end := range ends {
		end(named[how])
	}
	for how, name := range named {
		expect.Within(t, lbservice.RetriesWithin, func(ctx context.Context) error {
			left, err := s.BalancersOf(ctx, name)
			if err != nil {
				return err
			}
			return expect.Equal("load balancers of the Service that was "+how, 0, len(left))
		})
	}
}

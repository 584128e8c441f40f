package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// A Service gets a working address with two writes. Its load balancer follows the
// nodes, and nothing is left behind (S2, P3).
func TestServiceGetsALoadBalancer(t *testing.T) {
	b := lbservice.On(onShared(t))
	first := b.Kubelet(t, simulator.Instance{Name: b.Name("backend")})
	d := b.Daemon(t, daemon.Setup{})
	b.AwaitNode(t, first.Name, expect.Soon, nodes.Initialized)
	b.AwaitMetric(t, d, "fairlead_load_balancer_backends 1")
	mark := b.Audit(t).Mark()
	name := b.Balanced(t, "web")
	b.AwaitServing(t, name, first)
	expect.Within(t, expect.Soon, func(context.Context) error { // A write can reach the audit log after its effect is visible.
		return expect.Equal("writes of the Service", []string{"patch services/status", "patch services/status"}, b.WritesOf(t, mark, name).Lines())
	})

	if err := b.Cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := b.Kubelet(t, simulator.Instance{Name: b.Name("backend")})
	b.AwaitServing(t, name, first, second)
	calls, err := b.Cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(simulator.UpdateLoadBalancer); n != 1 {
		t.Errorf("%d updates of the load balancer for one node that joined, want 1", n)
	}
	b.Delete(t, name)
	b.AwaitGone(t, name)
}

// Services change while no daemon runs. The next daemon finds the changes.
func TestServiceChangesWhileTheDaemonIsDown(t *testing.T) {
	b := lbservice.On(onShared(t))
	i := b.Kubelet(t, simulator.Instance{Name: b.Name("backend")})
	d := b.Daemon(t, daemon.Setup{})
	deleted, internal := b.Balanced(t, "deleted"), b.Balanced(t, "internal")
	b.AwaitServing(t, deleted, i)
	b.AwaitServing(t, internal, i)
	d.Kill()
	b.Delete(t, deleted)
	b.Edit(t, internal, `{"spec":{"type":"ClusterIP"}}`)
	b.Daemon(t, daemon.Setup{})
	b.AwaitGone(t, deleted)
	b.AwaitInternal(t, internal)
}

// The daemon is killed at each request of a Service's life, before the server gets
// the request, and after the server has carried it out. There is never a second
// load balancer, and nothing is left in the end (S2, S7).
func TestServiceKilledAtEachRequest(t *testing.T) {
	b := lbservice.On(onShared(t))
	i := b.Kubelet(t, simulator.Instance{Name: b.Name("backend")})
	api, front := b.BeforeAPIServer(t), bed.BeforeCloud(t, b.Cloud)
	first := b.Daemon(t, daemon.Setup{})
	b.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
	first.Kill()
	undisturbed := b.Daemon(t, daemon.Setup{API: api, Cloud: front.URL()}) // It finds an initialised Node, as the daemons below do.
	name := b.Balanced(t, "counted")
	b.AwaitServing(t, name, i)
	requests := func() map[string][]proxy.Place {
		return map[string][]proxy.Place{"APIServer": proxy.PlacesOf(api.Requests(ofServices)), "Cloud": proxy.PlacesOf(front.Requests(ofBalancers))}
	}
	created := requests()
	b.Delete(t, name)
	b.AwaitGone(t, name)
	all := requests()
	t.Logf("requests of a Service's life: %v, of these until it serves: %v", all, created)
	undisturbed.Kill()

	for server, places := range all {
		for n, place := range places {
			for at, point := range map[proxy.Point]string{proxy.Before: "before", proxy.After: "after"} {
				t.Run(fmt.Sprintf("%s/%s/%s", server, place, point), func(t *testing.T) {
					p, match, s := b.BeforeAPIServer(t), ofServices, daemon.Setup{}
					s.API = p
					if server == "Cloud" {
						p, match = bed.BeforeCloud(t, b.Cloud), ofBalancers
						s = daemon.Setup{Cloud: p.URL()}
					}
					trap := p.TrapPlace(match, place, at)
					d := b.Daemon(t, s)
					name := b.Balanced(t, "killed")
					if n >= len(created[server]) {
						b.AwaitServing(t, name, i)
						b.Delete(t, name)
					}
					bed.AwaitPlace(t, trap, place)
					d.Kill()
					trap.Cut()
					b.Daemon(t, daemon.Setup{})
					if n < len(created[server]) {
						b.AwaitServing(t, name, i)
						b.Delete(t, name)
					}
					b.AwaitGone(t, name)
				})
			}
		}
	}
}

// ofServices reports whether a request writes a Service.
func ofServices(r proxy.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.Path, "/services/")
}

// ofBalancers reports whether a request is about a load balancer.
func ofBalancers(r proxy.Request) bool { return strings.Contains(r.Path, "/load-balancers") }

// ofBalancerChanges reports whether a request changes a load balancer.
func ofBalancerChanges(r proxy.Request) bool { return ofBalancers(r) && r.Method != http.MethodGet }

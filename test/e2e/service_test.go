package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

// A Service gets a working address with two writes, follows the nodes, and
// leaves nothing behind (S2, P3).
func TestServiceGetsALoadBalancer(t *testing.T) {
	b := onShared(t).services()
	first := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	d := b.daemon(t, setup{})
	b.awaitNode(t, first.Name, soon, initialized)
	b.awaitMetric(t, d, "fairlead_load_balancer_backends 1")
	mark := b.audit(t).mark()
	name := b.balanced(t, "web")
	b.awaitServing(t, name, first)
	if err := differ("writes of the Service", []string{"patch services/status", "patch services/status"}, b.writesOf(t, mark, name).lines()); err != nil {
		t.Error(err)
	}

	if err := b.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	b.awaitServing(t, name, first, second)
	calls, err := b.cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(simulator.UpdateLoadBalancer); n != 1 {
		t.Errorf("%d updates of the load balancer for one node that joined, want 1", n)
	}
	b.delete(t, name)
	b.awaitGone(t, name)
}

// What happens while no daemon runs is found by the next one.
func TestServiceChangesWhileTheDaemonIsDown(t *testing.T) {
	b := onShared(t).services()
	i := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	d := b.daemon(t, setup{})
	deleted, internal := b.balanced(t, "deleted"), b.balanced(t, "internal")
	b.awaitServing(t, deleted, i)
	b.awaitServing(t, internal, i)
	d.Kill()
	b.delete(t, deleted)
	b.edit(t, internal, `{"spec":{"type":"ClusterIP"}}`)
	b.daemon(t, setup{})
	b.awaitGone(t, deleted)
	b.awaitInternal(t, internal)
}

// The daemon is killed at each request of a Service's life, before the server
// has it and after the server has carried it out: there is never a second load
// balancer, and nothing is left in the end (S2, S7).
func TestServiceKilledAtEachRequest(t *testing.T) {
	b := onShared(t).services()
	i := b.kubelet(t, simulator.Instance{Name: b.name("backend")})
	api, front := b.apiProxy(t), proxyOf(t, b.cloud)
	first := b.daemon(t, setup{})
	b.awaitNode(t, i.Name, soon, initialized)
	first.Kill()
	undisturbed := b.daemon(t, setup{api: api, cloud: front.URL()}) // which finds the node, as those below do
	name := b.balanced(t, "counted")
	b.awaitServing(t, name, i)
	created := map[string]int{"APIServer": len(api.Requests(ofServices)), "Cloud": len(front.Requests(ofBalancers))}
	b.delete(t, name)
	b.awaitGone(t, name)
	all := map[string]int{"APIServer": len(api.Requests(ofServices)), "Cloud": len(front.Requests(ofBalancers))}
	t.Logf("requests of a Service's life: %v, of these until it serves: %v", all, created)
	undisturbed.Kill()

	for place, total := range all {
		for n := 1; n <= total; n++ {
			for at, point := range map[proxy.Point]string{proxy.Before: "before", proxy.After: "after"} {
				t.Run(fmt.Sprintf("%s/%d/%s", place, n, point), func(t *testing.T) {
					p, match, s := b.apiProxy(t), ofServices, setup{}
					s.api = p
					if place == "Cloud" {
						p, match = proxyOf(t, b.cloud), ofBalancers
						s = setup{cloud: p.URL()}
					}
					trap := p.Trap(match, n, at)
					d := b.daemon(t, s)
					name := b.balanced(t, "killed")
					if n > created[place] {
						b.awaitServing(t, name, i)
						b.delete(t, name)
					}
					sprung(t, trap)
					d.Kill()
					trap.Cut()
					b.daemon(t, setup{})
					if n <= created[place] {
						b.awaitServing(t, name, i)
						b.delete(t, name)
					}
					b.awaitGone(t, name)
				})
			}
		}
	}
}

// ofServices are writes of Services.
func ofServices(r proxy.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.Path, "/services/")
}

// ofBalancers are the requests about load balancers.
func ofBalancers(r proxy.Request) bool { return strings.Contains(r.Path, "/load-balancers") }

// ofBalancerChanges are those that change one.
func ofBalancerChanges(r proxy.Request) bool { return ofBalancers(r) && r.Method != http.MethodGet }

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// The daemon is killed at each request of an initialisation: before the server gets the
// request, and after the server has carried it out. The next daemon brings the Node to
// the same state (S7). No Node is released before it is complete (S6, which the bed's
// guard checks).
func TestKilledAtEachRequest(t *testing.T) {
	b := onShared(t)
	servers := []server{
		{"APIServer", ofNodes, b.BeforeAPIServer, func(p *proxy.Proxy) daemon.Setup { return daemon.Setup{API: p} }},
		{
			"Cloud", nil,
			func(t *testing.T) *proxy.Proxy { return bed.BeforeCloud(t, b.Cloud) },
			func(p *proxy.Proxy) daemon.Setup { return daemon.Setup{Cloud: p.URL()} },
		},
	}
	type run struct {
		name   string
		server server
		place  proxy.Place
		at     proxy.Point
	}
	var runs []run
	for _, server := range servers {
		all := undisturbed(t, b, server)
		t.Logf("an initialisation makes %d requests to %s: %v", len(all), server.name, all)
		for _, place := range all {
			for at, point := range map[proxy.Point]string{proxy.Before: "before", proxy.After: "after"} {
				runs = append(runs, run{fmt.Sprintf("%s/%s/%s", server.name, place, point), server, place, at})
			}
		}
		if len(all) == 0 {
			t.Fatal("there is nothing to kill it at")
		}
	}
	instances := excludedKubelets(t, b, len(runs))
	for k, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			p := r.server.before(t)
			trap := p.TrapPlace(r.server.match, r.place, r.at)
			i := instances[k]
			b.Patch(t, i.Name, `{"metadata":{"labels":{"`+labelExclude+`":null}}}`)
			first := b.Daemon(t, r.server.setup(p))
			bed.AwaitPlace(t, trap, r.place)
			first.Kill()
			trap.Cut()

			b.Daemon(t, daemon.Setup{})
			b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
		})
	}
}

// server describes a server. The daemon is killed at each of its requests to this server.
type server struct {
	name   string
	match  proxy.Match
	before func(*testing.T) *proxy.Proxy   // starts a proxy of the server
	setup  func(*proxy.Proxy) daemon.Setup // sends the daemon through the proxy
}

// undisturbed returns the requests of an initialisation without a crash, and checks
// the Node and its event. A request that is not the first of its kind is a retry: the
// Node's taints have changed meanwhile, so the API server has refused the write. Other
// initialisations might not make that request. So undisturbed returns the requests of
// an initialisation without retries.
func undisturbed(t *testing.T, b *bed.Bed, to server) []proxy.Place {
	t.Helper()
	const tries = 5
	for range tries {
		p := to.before(t)
		i := b.Kubelet(t, simulator.Instance{Name: b.Name("alive")})
		b.AwaitNode(t, i.Name, expect.Soon, isQuiet)
		d := b.Daemon(t, to.setup(p))
		b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
		b.AwaitEvent(t, i.Name, expect.Soon, "Normal Synced")
		if err := d.Stop(); err != nil {
			t.Fatal(err)
		}
		all := proxy.PlacesOf(p.Requests(to.match))
		if !slices.ContainsFunc(all, func(r proxy.Place) bool { return r.N > 1 }) {
			return all
		}
		t.Logf("an initialisation with retries: %v", all)
	}
	t.Fatalf("each of %d initialisations has made retries", tries)
	return nil
}

// isQuiet returns nil when Kubernetes has set and removed its own taints. Until then, its
// writes could conflict with those of the daemon.
func isQuiet(node *corev1.Node) error {
	ready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if len(node.Spec.Taints) != 1 || !slices.ContainsFunc(node.Status.Conditions, ready) {
		return fmt.Errorf("taints %v, conditions %v", node.Spec.Taints, node.Status.Conditions)
	}
	return nil
}

// ofNodes matches the requests of an initialisation: lists, watches and patches of
// Nodes, and the recording of an event.
func ofNodes(r proxy.Request) bool {
	return strings.HasPrefix(r.Path, "/api/v1/nodes") || strings.HasSuffix(r.Path, "/events")
}

// excludedKubelets boots n kubelets. A label excludes each Node until its turn
// comes.
func excludedKubelets(t *testing.T, b *bed.Bed, n int) []simulator.Instance {
	t.Helper()
	var wanted []simulator.Instance
	for range n {
		wanted = append(wanted, simulator.Instance{Name: b.Name("killed"), Labels: map[string]string{"rack": "r1"}})
	}
	created := b.Kubelets(t, wanted...)
	for _, i := range created {
		b.Patch(t, i.Name, `{"metadata":{"labels":{"`+labelExclude+`":"true"}}}`)
	}
	return created
}

// The daemon keeps running, but some requests and replies are lost. This does not change
// the result of an initialisation.
func TestLostAndCutRequests(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	api, front := b.BeforeAPIServer(t), bed.BeforeCloud(t, cloud)
	for _, match := range []proxy.Match{watches, patches} {
		api.Trap(match, 1, proxy.After).Cut()
		api.Trap(match, 2, proxy.Before).Cut()
	}
	api.Trap(records, 1, proxy.After).Cut()
	front.Trap(nil, 1, proxy.After).Cut()
	front.Trap(nil, 2, proxy.Before).Cut()
	var instances []simulator.Instance
	for range 5 {
		i, _ := b.Pair(t, cloud, simulator.Instance{Name: b.Name("lost")})
		instances = append(instances, i)
	}
	b.Daemon(t, daemon.Setup{API: api, Cloud: front.URL()})
	for _, i := range instances {
		b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		for _, i := range instances {
			told, err := b.Events(ctx, i.Name)
			if err != nil {
				return err
			}
			if n := expect.CountPrefix(told, "Normal Synced"); n != 1 {
				return fmt.Errorf("node %s: %d events Synced, want 1: %q", i.Name, n, told)
			}
		}
		return nil
	})
}

func watches(r proxy.Request) bool { return r.Method == http.MethodGet && ofNodes(r) }

func patches(r proxy.Request) bool { return r.Method == http.MethodPatch && ofNodes(r) }

func records(r proxy.Request) bool { return r.Method == http.MethodPost && ofNodes(r) }

// statusPatches matches patches of a Node's status: addresses and conditions.
func statusPatches(r proxy.Request) bool { return patches(r) && strings.HasSuffix(r.Path, "/status") }

// nodePatches matches patches of a Node outside its status: provider ID, labels,
// taints.
func nodePatches(r proxy.Request) bool {
	return patches(r) && !strings.HasSuffix(r.Path, "/status")
}

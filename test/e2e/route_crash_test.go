package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// ofTable matches the requests to the cloud about routes.
func ofTable(r proxy.Request) bool { return strings.Contains(r.Path, "/routes") }

// ofNetwork matches the writes of the condition NetworkUnavailable.
func ofNetwork(r proxy.Request) bool {
	return r.Method == http.MethodPatch && strings.HasSuffix(r.UserAgent, podnetwork.RouteAgent)
}

// routeLife follows one Node's route from its creation to its deletion. The daemon's
// requests go through proxies.
type routeLife struct {
	*podnetwork.Network

	api, front *proxy.Proxy
	node       *corev1.Node
}

func life(t *testing.T, n *podnetwork.Network) *routeLife {
	t.Helper()
	return &routeLife{Network: n, api: n.BeforeAPIServer(t), front: bed.BeforeCloud(t, n.Cloud)}
}

// begins starts the daemon and lets the Node join.
func (l *routeLife) begins(t *testing.T, flags ...string) *daemon.Daemon {
	t.Helper()
	d := l.Runs(t, daemon.Setup{API: l.api, Cloud: l.front.URL(), Flags: flags})
	_, l.node = l.Joins(t, "mortal")
	return d
}

// hasItsRoute waits until the route is in the cloud's table and the Node's condition
// shows it.
func (l *routeLife) hasItsRoute(t *testing.T) {
	t.Helper()
	podnetwork.AwaitTable(t, expect.Soon, l.Network)
	l.AwaitReachable(t, expect.Soon)
}

// requests returns the daemon's requests until now, by server.
func (l *routeLife) requests() map[string][]proxy.Place {
	return map[string][]proxy.Place{"Cloud": proxy.PlacesOf(l.front.Requests(ofTable)), "APIServer": proxy.PlacesOf(l.api.Requests(ofNetwork))}
}

// The daemon is killed at each request of a route's life: before the server gets the
// request, and after the server has carried it out. The next daemon reaches the same
// result (S7). There is never a second route.
func TestRouteKilledAtEachRequest(t *testing.T) {
	const regular = "--route-reconciliation-period=10m" // so long that the routes are not listed periodically during the test
	n := podnetwork.New(t, onOwn(t))
	counted := life(t, n)
	d := counted.begins(t, regular)
	counted.hasItsRoute(t)
	created := counted.requests()
	counted.Leaves(t, counted.node.Name)
	podnetwork.AwaitTable(t, expect.Soon, n)
	all := counted.requests()
	t.Logf("requests of a route's life: %v, of these until it is there: %v", all, created)
	if len(created["Cloud"]) < 2 || len(all["Cloud"]) < len(created["Cloud"])+2 || len(all["APIServer"]) < 1 {
		t.Fatal("there is too little to kill it at")
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	for server, places := range all {
		for k, place := range places {
			for at, point := range map[proxy.Point]string{proxy.Before: "before", proxy.After: "after"} {
				t.Run(fmt.Sprintf("%s/%s/%s", server, place, point), func(t *testing.T) {
					l := life(t, n)
					p, match := l.api, ofNetwork
					if server == "Cloud" {
						p, match = l.front, ofTable
					}
					trap := p.TrapPlace(match, place, at)
					d := l.begins(t, regular)
					if k >= len(created[server]) {
						l.hasItsRoute(t)
						l.Leaves(t, l.node.Name)
					}
					bed.AwaitPlace(t, trap, place)
					d.Kill()
					trap.Cut()
					next := l.Runs(t, daemon.Setup{Flags: []string{regular}})
					l.hasItsRoute(t)
					l.Leaves(t, l.node.Name)
					podnetwork.AwaitTable(t, expect.Soon, n)
					if next.Ended() {
						t.Error("the next daemon has ended")
					}
				})
			}
		}
	}
}

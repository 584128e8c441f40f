package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// side is one of two clusters in one account, with its daemon.
type side struct {
	*podnetwork.Network

	daemon *daemon.Daemon
	front  *proxy.Proxy
	mark   int64
}

const (
	dualStack = podnetwork.PodCIDR + ",fd00:10:244::/56"
	// checked is the period with which the daemons of these tests compare the routes with
	// the Nodes.
	checked = 2 * time.Second
)

// starts runs a daemon for one of the clusters.
func starts(t *testing.T, n *podnetwork.Network, name string, s daemon.Setup) *side {
	t.Helper()
	on := &side{Network: n, front: bed.BeforeCloud(t, n.Cloud), mark: n.Audit(t).Mark()}
	s.Cloud = on.front.URL()
	s.Flags = []string{"--cluster-name=" + name, "--route-reconciliation-period=" + checked.String()}
	on.daemon = on.Runs(t, s)
	return on
}

// Two clusters give their Nodes the same CIDRs and have their routes in one table.
// One of them has two address families. Neither cluster's daemon changes routes of
// the other cluster, whatever happens in one of them.
func TestRoutesOfTwoClusters(t *testing.T) {
	left := podnetwork.New(t, onOwn(t, "--cluster-cidr="+dualStack))
	right := &podnetwork.Network{Bed: ownBed(t), Cloud: left.Cloud}
	a := starts(t, left, "left", daemon.Setup{Provider: "modern", Pods: dualStack})
	b := starts(t, right, "right", daemon.Setup{})
	var stopped, goes simulator.Instance
	for range 2 {
		stopped, _ = left.Joins(t, "left")
		goes, _ = right.Joins(t, "right")
	}
	settled := func(t *testing.T) {
		t.Helper()
		podnetwork.AwaitTable(t, expect.Soon, left, right)
		left.AwaitReachable(t, 2*time.Minute)
		right.AwaitReachable(t, 2*time.Minute)
	}
	settled(t)
	t.Run("Hints", a.testHints)
	t.Run("NodeGoes", func(t *testing.T) {
		right.Leaves(t, goes.Name)
		settled(t)
	})
	if err := left.Cloud.StopInstance(t.Context(), stopped.ID); err != nil {
		t.Fatal(err)
	}
	t.Run("CreationFailsOften", a.testFailsOften)
	t.Run("InstanceIsStopped", func(t *testing.T) { a.testLeadsNowhere(t, stopped) })
	t.Run("InstanceRunsAgain", func(t *testing.T) { a.testRunsAgain(t, stopped) })
	settled(t)
	t.Run("Idle", func(t *testing.T) { idle(t, a, b) })
	podnetwork.AwaitTable(t, expect.Soon, left, right)
}

// testHints: CreateRoute gets a different name hint for each CIDR of a Node. Otherwise a
// provider that names routes by the hint would give two routes the same name.
func (s *side) testHints(t *testing.T) {
	nodes, err := podnetwork.NodesWithCIDRs(t.Context(), s.Bed)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		for k, suffix := range []string{"", "-ipv6"} {
			if n := s.daemon.CountLogged("Asked for a route", `destination="`+node.Spec.PodCIDRs[k]+`"`, `hint="`+string(node.UID)+suffix+`"`); n != 1 {
				t.Errorf("%d creations for %s of %s with the hint %s%s, want 1", n, node.Spec.PodCIDRs[k], node.Name, node.UID, suffix)
			}
		}
	}
	var want []string
	for _, node := range nodes { // One write for each Node, although it has two families.
		want = append(want, node.Name+" False")
	}
	podnetwork.AwaitConditionsWritten(t, s.Bed, s.mark, want...)
}

// testLeadsNowhere: after a minute, the Node of a stopped instance shows that its
// network is unavailable.
func (s *side) testLeadsNowhere(t *testing.T, i simulator.Instance) {
	s.AwaitNode(t, i.Name, 2*time.Minute, podnetwork.Shows(podnetwork.Unreachable))
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // A Node that has just gone may still have a route.
		routes, err := s.Cloud.Routes(ctx)
		if err != nil {
			return err
		}
		for _, r := range routes {
			if is := r.State == simulator.RouteBlackhole; is != (r.Target == i.ID) {
				return fmt.Errorf("route %s to %s is %s", r.Destination, r.Target, r.State)
			}
		}
		return nil
	})
}

func (s *side) testRunsAgain(t *testing.T, i simulator.Instance) {
	if err := s.Cloud.StartInstance(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	s.AwaitNode(t, i.Name, time.Minute, podnetwork.Shows(podnetwork.Reachable))
}

// testFailsOften: a creation that fails repeatedly is reported once. The daemon retries
// it with growing delays until it succeeds. The routes of other Nodes do not wait for it.
// The Node may be shown as unreachable for only a second, so the test finds this in the
// audit log.
func (s *side) testFailsOften(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "often": 5} {
		t.Run(name, func(t *testing.T) {
			mark := s.Audit(t).Mark()
			i := s.Cloud.Instance(t, simulator.Instance{Name: s.Name(name)})
			s.Cloud.Fail(t, simulator.Fault{
				Name: i.Name, Kind: simulator.FaultError, Calls: []simulator.Call{simulator.CreateRoute}, Match: i.Name + "-*", Count: 2 * times, // the Node has two families
			})
			node := s.Registers(t, i, "")
			s.AwaitNode(t, i.Name, 2*time.Minute, podnetwork.Shows(podnetwork.Reachable))
			expect.Within(t, expect.Soon, func(ctx context.Context) error {
				told, err := toldOfRoutes(ctx, s.Bed, i.Name)
				if err != nil || expect.CountPrefix(told, "Warning FailedToCreateRoute: Could not create route "+string(node.UID)) != 2 || len(told) != 2 {
					return fmt.Errorf("events %q, error %w, want one for each family", told, err)
				}
				// The Node of the stopped instance may become unreachable in the meantime.
				written := slices.DeleteFunc(podnetwork.ConditionsWritten(t, s.Bed, mark), func(w string) bool { return !strings.HasPrefix(w, i.Name+" ") })
				return expect.Equal("writes of the condition", []string{i.Name + " True", i.Name + " False"}, written)
			})
			report, err := s.Cloud.Faults(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report {
				if f.Name == i.Name && f.Hits != 2*times {
					t.Errorf("%d creations have failed, want %d", f.Hits, 2*times)
				}
			}
		})
	}
}

// idle checks that nothing is written. It also checks that the periodic listings are
// the only calls about routes.
func idle(t *testing.T, sides ...*side) {
	t.Helper()
	const times = 5
	asked := func(s *side) int { return len(s.front.Requests(ofTable)) }
	began := time.Now()
	before, marks := map[*side]int{}, map[*side]int64{}
	for _, s := range sides {
		before[s], marks[s] = asked(s), s.Audit(t).Mark()
	}
	expect.Within(t, time.Minute, func(context.Context) error {
		for _, s := range sides {
			if n := asked(s) - before[s]; n < times {
				return fmt.Errorf("the routes were listed %d times", n)
			}
		}
		return nil
	})
	for _, s := range sides {
		requests := slices.DeleteFunc(s.front.Requests(ofTable)[before[s]:], func(r proxy.Request) bool { return r.Began.Before(began) }) // One may have begun earlier, and have come late.
		lasted := time.Since(began)
		most := int(lasted/(checked*9/10)) + 1
		if len(requests) > most {
			t.Errorf("the routes were listed %d times in %v, want %d at most", len(requests), lasted, most)
		}
		for _, r := range requests {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s while nothing changed", r.Method, r.Path)
			}
		}
		if writes := s.Audit(t).Since(marks[s]).OfDaemons().Writes(); len(writes) > 0 {
			t.Errorf("%d writes while nothing changed, the first: %v", len(writes), writes[0])
		}
	}
}

package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

// While the cloud is down, the daemon calls it once every 5 seconds, no matter how many
// Nodes wait (P2 c). Each Node gets one event about the outage. The retry delays do not
// grow during the outage, so afterwards all Nodes are initialised soon.
func TestOutageCostsFewCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	const size = 100
	b := onOwn(t)
	c := b.NewCloud(t, "--latency=30ms")
	d := b.Daemon(t, daemon.Setup{Cloud: c.URL, Elect: true})
	first := newFleet(t, b, c, 1)
	awaitFleet(t, b, first, 1, expect.Soon, func(n *corev1.Node) bool { return !nodes.IsTainted(n) })
	c.Fail(t, simulator.Fault{Name: "down", Kind: simulator.FaultOutage})
	before, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bed.Pause(t.Context(), 2*time.Second) // More calls begin if the cloud answered one a moment ago.
	mark, began := b.Audit(t).Mark(), time.Now()
	name := newFleet(t, b, c, size)
	awaitFleet(t, b, name, size, 3*time.Minute, func(n *corev1.Node) bool {
		shown := nodefact.Condition(n, "CloudInitialized")
		return shown != nil && shown.Reason == "CloudUnavailable"
	})
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lasted, n := time.Since(began), report.Count()-before.Count()
	t.Logf("%d calls in an outage of %.0f s", n, lasted.Seconds())
	// Up to 20 calls begin before the daemon notices the outage.
	if n > 20+int64(lasted/(4800*time.Millisecond)) {
		t.Errorf("%d calls in an outage of %.0f s, want one in 4.8 s after the first 20", n, lasted.Seconds())
	}
	c.Heal(t)
	healed := time.Now()
	awaitFleet(t, b, name, size, expect.Soon, func(n *corev1.Node) bool { return !nodes.IsTainted(n) })
	t.Logf("all Nodes were initialised %.1f s after the outage", time.Since(healed).Seconds())
	failed := func(r audit.Request) bool {
		return isNodeEvent(r) && strings.Contains(string(r.Body), "CloudUnavailable")
	}
	expect.Within(t, expect.Soon, func(context.Context) error {
		return expect.Equal("events about the outage", size, len(b.Audit(t).Since(mark).OfDaemons().Where(failed)))
	})
	if d.Ended() {
		t.Error("the daemon has ended")
	}
}

// The API server is away for longer than the lease lasts, three times. The leader waits
// for it, keeps the lease, and repeats no call. There is no other replica, which could take
// the lease first.
func TestOutageIsOutlived(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	const times, outage = 3, time.Minute
	s := lbservice.New(t, onOwn(t), 2)
	leader := replicas.New(t, s.Bed, s.Cloud, daemon.Setup{Lease: daemon.LeaseName, Flags: []string{"--leader-elect-recovery-timeout=5m"}})
	name := s.Balanced(t, "stays")
	s.AwaitServing(t, name, s.Hosts...)
	holder := replicas.LeaseHolder(t, s.Bed, daemon.LeaseName)
	calls := leader.CountLogged("Load balancer call succeeded")
	for range times {
		if _, err := s.Command(t.Context(), "stop", "--kill", "kube-apiserver"); err != nil {
			t.Fatal(err)
		}
		bed.Pause(t.Context(), outage)
		if _, err := s.Command(t.Context(), "start", "kube-apiserver"); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		expect.Within(t, expect.Soon, func(context.Context) error {
			if leader.Ended() {
				t.Fatalf("the leader has ended with code %d", leader.Code())
			}
			for _, r := range leader.API.Requests(replicas.OfLeases) {
				if r.Method == http.MethodPut && r.Began.After(back) {
					t.Logf("the lease was renewed %v after the API server was back", r.Began.Sub(back).Round(time.Millisecond))
					return nil
				}
			}
			return errors.New("the lease was not renewed")
		})
	}
	if now := replicas.LeaseHolder(t, s.Bed, daemon.LeaseName); now != holder {
		t.Errorf("the lease is held by %s, want still %s", now, holder)
	}
	if n := leader.CountLogged("Load balancer call succeeded"); n != calls {
		t.Errorf("%d calls about the Service, want still %d", n, calls)
	}
	joins(t, s.Bed, s.Cloud, 2*time.Minute) // After outages, client-go waits for up to a minute before it lists again.
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

const (
	// plannedHandOver and crashHandOver are the longest times of a hand-over with default
	// flags: a planned one, and one after a crash. drain is the drain timeout.
	plannedHandOver = 6 * time.Second
	crashHandOver   = 24 * time.Second
	drain           = 8 * time.Second
	// noise is the delay that a busy machine can add. The tests log the times that
	// they have measured.
	noise = 6 * time.Second
)

// joins adds a Node and waits until it is initialised.
func joins(t *testing.T, b *bed.Bed, c *bed.Cloud, within time.Duration) {
	t.Helper()
	i, node := b.Pair(t, c, simulator.Instance{Name: b.Name("joins")})
	b.AwaitNode(t, node.Name, within, nodes.As(i, nodes.AddressesOf(i)...))
}

// When the leader of two replicas is asked to end, it releases the lease, and the other
// replica leads soon after.
func TestRollingRestart(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	leader, standby := replicas.Pair(t, b, cloud, daemon.Setup{})
	joins(t, b, cloud, expect.Soon)
	if n := len(standby.API.Requests(patches)) + len(standby.API.Requests(records)) + len(standby.Cloud.Requests(nil)); n > 0 {
		t.Errorf("the standby has written or asked the cloud %d times", n)
	}
	before := replicas.LeaseHolder(t, b, daemon.LeaseName)

	limit := timeout.New(plannedHandOver + noise)
	leader.Signal(syscall.SIGTERM)
	if code := leader.AwaitExit(t, plannedHandOver+noise); code != 0 {
		t.Errorf("the leader has ended with code %d after SIGTERM, want 0", code)
	}
	if now := replicas.LeaseHolder(t, b, daemon.LeaseName); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
	ended := limit.Elapsed()
	joins(t, b, cloud, plannedHandOver+noise)
	took, isLate := limit.Elapsed(), limit.IsOver()
	t.Logf("planned hand-over: the leader ended after %v, a Node was initialised by the other after %v", ended.Round(time.Millisecond), took.Round(time.Millisecond))
	if isLate {
		t.Errorf("the hand-over took %v, want %v", took, plannedHandOver)
	}
}

func TestLeaderIsKilled(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	leader, _ := replicas.Pair(t, b, cloud, daemon.Setup{})
	joins(t, b, cloud, expect.Soon)

	limit := timeout.New(crashHandOver + noise)
	leader.Kill()
	joins(t, b, cloud, crashHandOver+noise)
	took, isLate := limit.Elapsed(), limit.IsOver()
	t.Logf("hand-over after kill -9: a Node was initialised by the other after %v", took.Round(time.Millisecond))
	if isLate {
		t.Errorf("the hand-over took %v, want %v", took, crashHandOver)
	}
}

// The API server's storage is restored from a backup under a running daemon. The versions of
// the lease go back, so the daemon ends at once, and another one works (S7).
func TestRestoredStorageEndsTheProcess(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	leader, _ := replicas.Pair(t, b, cloud, daemon.Setup{Flags: []string{"--kube-api-content-type=application/json"}})
	lease, err := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), leader.Lease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(lease.ResourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	leader.API.Rewind("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+leader.Lease, version-1)
	if code := leader.AwaitExit(t, expect.Soon); code != 1 || !leader.Logged("gone back to an earlier state") {
		t.Errorf("the daemon has ended with code %d, want 1 and a line that the cluster has gone back", code)
	}
	joins(t, b, cloud, crashHandOver+noise)
}

// A provider ignores the context of a call. The daemon waits for the call, but only
// for a limited time. The call changes nothing, so the lease is released.
func TestHandOverWithAProviderThatIgnoresItsContext(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	leader, standby := replicas.Pair(t, b, cloud, daemon.Setup{Provider: "modern"})
	i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("hangs"), Labels: map[string]string{"provider-fault": "ignores-context"}})
	expect.Within(t, expect.Soon, func(context.Context) error {
		if !leader.Logged("Ignores its context from now on", node.Name) {
			return errors.New("the provider has not been asked")
		}
		return nil
	})
	before := replicas.LeaseHolder(t, b, daemon.LeaseName)

	asked := time.Now()
	leader.Signal(syscall.SIGTERM)
	leader.AwaitExit(t, drain+noise)
	ended := time.Since(asked)
	if now := replicas.LeaseHolder(t, b, daemon.LeaseName); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
	joins(t, b, cloud, plannedHandOver+noise)
	t.Logf("hand-over with a provider that ignores its context: the leader ended after %v, the other worked after %v",
		ended.Round(time.Millisecond), time.Since(asked).Round(time.Millisecond))

	cloud.Change(t, i, simulator.InstancePatch{Labels: map[string]*string{"provider-fault": nil}})
	i.Labels = nil
	b.AwaitNode(t, node.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
	noOverlap(t, leader, standby)
}

// When the leader is asked to end, it waits for a write that has not returned. It
// keeps the lease until the write has returned.
func TestHandOverWaitsForTheWriteUnderWay(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	leader, standby := replicas.Pair(t, b, cloud, daemon.Setup{Flags: []string{oftenLooked}})
	trap := leader.API.Trap(patches, 1, proxy.Before)
	i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("held")})
	bed.AwaitTrap(t, trap)
	handsOverAfter(t, b, leader, standby, trap)
	b.AwaitNode(t, node.Name, plannedHandOver+noise, nodes.As(i, nodes.AddressesOf(i)...))
	noOverlap(t, leader, standby)
}

// oftenLooked makes a standby look at the lease often. So it has looked at it twice long
// before the drain timeout of the leader is over.
const oftenLooked = "--leader-elect-retry-period=500ms"

// handsOverAfter asks the leader to end while one of its requests is trapped. The
// leader must keep the lease until the test has released the request and the
// request has returned.
func handsOverAfter(t *testing.T, b *bed.Bed, leader, standby replicas.Replica, trap *proxy.Trap) {
	t.Helper()
	before := replicas.LeaseHolder(t, b, leader.Lease)
	looked := len(standby.API.Requests(replicas.OfLeases))
	asked := time.Now()
	leader.Signal(syscall.SIGTERM)
	// Wait until the standby has looked at the lease twice: by then it would have taken a
	// free lease. Stop waiting after half of the drain timeout, because then the leader
	// still waits for the request.
	expect.Within(t, expect.Soon, func(context.Context) error {
		if n := len(standby.API.Requests(replicas.OfLeases)); n < looked+2 && time.Since(asked) < drain/2 {
			return fmt.Errorf("the standby has looked at the lease %d times", n-looked)
		}
		return nil
	})
	if now := replicas.LeaseHolder(t, b, leader.Lease); now != before {
		t.Errorf("the lease was given away, to %q, while a write of the leader was under way", now)
	}
	released := time.Now()
	trap.Release()
	if held := time.Since(asked); held > drain {
		t.Skipf("this machine is too busy: the request was held for %v, and the leader waits for %v", held, drain)
	}
	if code := leader.AwaitExit(t, drain+noise); code != 0 {
		t.Errorf("the leader has ended with code %d, want 0", code)
	}
	for _, r := range standby.API.Requests(replicas.OfLeases) {
		if r.Method != http.MethodGet && r.Began.Before(released) {
			t.Errorf("the standby has written the lease while a write of the leader was under way: %s %s", r.Method, r.Path)
		}
	}
	if now := replicas.LeaseHolder(t, b, leader.Lease); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
}

// The leader waits for a write that never returns, but only for the drain timeout.
// It does not release the lease. So the other replica waits until the lease
// expires.
func TestWriteThatIsNeverOverKeepsTheLease(t *testing.T) {
	b := onOwn(t)
	cloud := b.NewCloud(t)
	leader, standby := replicas.Pair(t, b, cloud, daemon.Setup{Flags: []string{lasting, "--leader-elect-renew-deadline=25s"}})
	trap := leader.API.Trap(patches, 1, proxy.Before)
	i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("stuck")})
	bed.AwaitTrap(t, trap)
	asked := time.Now()
	keepsTheLease(t, b, leader, standby)
	ended := time.Since(asked)
	trap.Cut() // The leader's connections have ended with its process, so the request is lost.
	b.AwaitNode(t, node.Name, lastingHandOver+noise, nodes.As(i, nodes.AddressesOf(i)...))
	t.Logf("a write that is never over: the leader ended after %v, the other had initialised the Node after %v",
		ended.Round(time.Millisecond), time.Since(asked).Round(time.Millisecond))
	noOverlap(t, leader, standby)
}

// keepsTheLease asks the leader to end during a call that does not return in
// time. The process ends and does not release the lease.
func keepsTheLease(t *testing.T, b *bed.Bed, leader, standby replicas.Replica) {
	t.Helper()
	before := replicas.LeaseHolder(t, b, leader.Lease)
	leader.Signal(syscall.SIGTERM)
	code := leader.AwaitExit(t, drain+noise)
	if now := replicas.LeaseHolder(t, b, leader.Lease); now != before {
		t.Errorf("the lease was given away, to %q, while a write of the leader was under way", now)
	}
	if code == 0 {
		t.Error("the leader has ended with code 0, though work was under way")
	}
	if n := len(standby.API.Requests(mutations)) + len(standby.Cloud.Requests(ofBalancerChanges)); n > 0 {
		t.Errorf("the standby has made %d writes beside the one under way", n)
	}
}

// mutations matches writes of Nodes and Services to the API server.
func mutations(r proxy.Request) bool {
	return r.Method != http.MethodGet && (strings.HasPrefix(r.Path, "/api/v1/nodes") || strings.Contains(r.Path, "/services/"))
}

// noOverlap checks all writes of both replicas: the replicas must never write the same
// object at the same time (S7). All load balancers count as one object.
func noOverlap(t *testing.T, a, b replicas.Replica) {
	t.Helper()
	pairs := func(x, y []proxy.Request, object func(proxy.Request) string) {
		for _, x := range x {
			for _, y := range y {
				if object(x) != object(y) || !y.Ended.IsZero() && y.Ended.Before(x.Began) || !x.Ended.IsZero() && x.Ended.Before(y.Began) {
					continue
				}
				t.Errorf("S7: two replicas had a mutation of one object under way: %s %s from %v to %v, and %s %s from %v to %v",
					x.Method, x.Path, x.Began, x.Ended, y.Method, y.Path, y.Began, y.Ended)
			}
		}
	}
	pairs(a.API.Requests(mutations), b.API.Requests(mutations), func(r proxy.Request) string { return strings.TrimSuffix(r.Path, "/status") })
	pairs(a.Cloud.Requests(ofBalancerChanges), b.Cloud.Requests(ofBalancerChanges), func(proxy.Request) string { return "" })
}

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

const (
	// lasting makes a lease last twice as long as by default. After a leader has ended, a
	// test then has enough time to look at the lease before another replica takes it,
	// even on a busy machine.
	lasting = "--leader-elect-lease-duration=30s"
	// lastingHandOver is the longest time of a hand-over after a crash with this flag.
	lastingHandOver = crashHandOver + 15*time.Second
)

func creations(r proxy.Request) bool { return ofBalancers(r) && r.Method == http.MethodPost }

// The leader is asked to end while the cloud makes a load balancer. The leader keeps
// the lease until the call has returned, and there is one load balancer (S3, S7).
func testHandOverWaitsForTheCloud(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	leader, standby := s.Replicas(t, daemon.Setup{Flags: []string{oftenLooked}})
	trap := leader.Cloud.Trap(creations, 1, proxy.Before)
	name := s.Balanced(t, "held")
	bed.AwaitTrap(t, trap)
	handsOverAfter(t, b, leader, standby, trap)
	s.AwaitServing(t, name, s.Hosts...)
	noOverlap(t, leader, standby)
	s.CreatedOnce(t)
}

// The cloud never finishes the load balancer. The leader ends without releasing the
// lease. The other replica takes over once the lease has expired.
func testCloudThatIsNeverDoneKeepsTheLease(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	leader, standby := s.Replicas(t, daemon.Setup{Flags: []string{lasting}})
	trap := leader.Cloud.Trap(creations, 1, proxy.Before)
	name := s.Balanced(t, "stuck")
	bed.AwaitTrap(t, trap)
	keepsTheLease(t, b, leader, standby)
	trap.Cut() // The call is lost, because the connections of the process have ended with it.
	s.AwaitServingWithin(t, lastingHandOver+noise, name, s.Hosts...)
	noOverlap(t, leader, standby)
	s.CreatedOnce(t)
}

// A call has outlived its deadline, and nobody waits for it any more. The leader still
// keeps the lease, because the call is under way until it returns.
func testCallPastItsDeadlineKeepsTheLease(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	leader, standby := s.Replicas(t, daemon.Setup{Provider: "modern", Flags: []string{"--cloud-mutation-timeout=10s", lasting}})
	name := s.Balanced(t, "hangs", s.Misbehaves(t, "ignores-context"))
	s.AwaitTold(t, name, lbservice.RetriesWithin, "Warning SyncLoadBalancerFailed", "after its deadline")
	keepsTheLease(t, b, leader, standby)
	s.Behaves(t, name)
	s.AwaitServingWithin(t, lastingHandOver+noise, name, s.Hosts...)
	noOverlap(t, leader, standby)
	s.CreatedOnce(t)
}

// The leader is killed while the cloud makes a load balancer, so nobody gets the reply.
// The other replica finds the load balancer.
func testLeaderIsKilledWhileTheCloudIsAtIt(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	leader, standby := s.Replicas(t, daemon.Setup{})
	trap := leader.Cloud.Trap(creations, 1, proxy.After)
	name := s.Balanced(t, "killed")
	bed.AwaitTrap(t, trap)
	died := time.Now()
	leader.Kill()
	trap.Cut()
	s.AwaitServingWithin(t, crashHandOver+noise, name, s.Hosts...)
	t.Logf("the leader was killed in the middle of an ensure: the Service was served by the other after %v", time.Since(died).Round(time.Millisecond))
	noOverlap(t, leader, standby)
	s.CreatedOnce(t)
}

// The leader is cut off from the API server while the cloud makes a load balancer. The call
// does not return, but the leader ends before the other replica begins its first change.
func testLeaderIsCutOff(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	leader, standby := s.Replicas(t, daemon.Setup{})
	trap := leader.Cloud.Trap(creations, 1, proxy.After)
	name := s.Balanced(t, "cut")
	bed.AwaitTrap(t, trap)
	cut := time.Now()
	if err := leader.API.Close(); err != nil {
		t.Error(err)
	}
	leader.AwaitExit(t, crashHandOver)
	ended := time.Now()
	trap.Cut()
	s.AwaitServingWithin(t, crashHandOver+noise, name, s.Hosts...)
	for _, r := range slices.Concat(standby.API.Requests(mutations), standby.Cloud.Requests(ofBalancerChanges)) {
		t.Logf("%v after the cut the leader has ended, after %v the other begins %s %s", ended.Sub(cut), r.Began.Sub(cut), r.Method, r.Path)
		if r.Began.Before(ended) {
			t.Error("S7: the other replica begins a change while the former leader runs")
		}
	}
	noOverlap(t, leader, standby)
	s.CreatedOnce(t)
}

// The leader reaches the API server, but can no longer renew its lease. A controller of the
// vendor knows of no lease, and writes ten times a second in both replicas. None of its
// writes reaches the API server after the other replica's first.
func testLeaderCannotRenew(t *testing.T, b *bed.Bed) {
	s := newClass(t, b)
	node := nodes.New(b.Name("vendor"))
	node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "true"}
	b.Register(t, node)
	writes := func(r proxy.Request) bool {
		return r.Method == http.MethodPatch && r.Path == "/api/v1/nodes/"+node.Name
	}
	leader, standby := s.Replicas(t, daemon.Setup{Provider: "modern", Settings: "writes: " + node.Name + "\n"})
	const some = 10
	writesSome := func(r replicas.Replica) {
		expect.Within(t, crashHandOver+noise, func(context.Context) error {
			if n := len(r.API.Requests(writes)); n < some {
				return fmt.Errorf("the vendor's controller has written %d times, want %d", n, some)
			}
			return nil
		})
	}
	writesSome(leader)
	for n := range 100 { // more renewals than the leader tries
		defer leader.API.Trap(replicas.OfLeases, n+1, proxy.Before).Cut()
	}
	writesSome(standby)
	last, first := leader.API.Requests(writes), standby.API.Requests(writes)[0]
	t.Logf("the former leader's last of %d writes began %v before the other's first", len(last), first.Began.Sub(last[len(last)-1].Began))
	for _, r := range last {
		if !r.Began.Before(first.Began) {
			t.Errorf("S7: the former leader writes %v after the other's first write", r.Began.Sub(first.Began))
		}
	}
}

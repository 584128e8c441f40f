package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

func creations(r proxy.Request) bool { return ofBalancers(r) && r.Method == http.MethodPost }

// The leader is asked to end while the cloud makes a load balancer: the lease
// stays until that is over, and there is one load balancer (S3, S7).
func handOverWaitsForTheCloud(t *testing.T, b *bed) {
	s := b.classed(t)
	leader, standby := s.replicas(t, setup{})
	trap := leader.cloud.Trap(creations, 1, proxy.Before)
	name := s.balanced(t, "held")
	sprung(t, trap)
	b.handsOverAfter(t, leader, standby, trap)
	s.awaitServing(t, name, s.hosts...)
	noOverlap(t, leader, standby)
	s.createdOnce(t)
}

// The cloud is never done with it: the leader ends without giving the lease
// back, and the other takes over once it has expired.
func cloudThatIsNeverDoneKeepsTheLease(t *testing.T, b *bed) {
	s := b.classed(t)
	leader, standby := s.replicas(t, setup{})
	trap := leader.cloud.Trap(creations, 1, proxy.Before)
	name := s.balanced(t, "stuck")
	sprung(t, trap)
	b.keepsTheLease(t, leader, standby)
	trap.Cut() // The process has ended, and so have its connections.
	s.awaitServingWithin(t, crashHandOver+noise, name, s.hosts...)
	noOverlap(t, leader, standby)
	s.createdOnce(t)
}

// So does a call that has outlived its deadline and that nobody waits for any
// more: it is under way until it returns.
func callPastItsDeadlineKeepsTheLease(t *testing.T, b *bed) {
	s := b.classed(t)
	leader, standby := s.replicas(t, setup{program: testCCM, provider: "modern", flags: []string{"--cloud-mutation-timeout=1s"}})
	name := s.balanced(t, "deaf", s.misbehaves(t, "deaf"))
	s.awaitTold(t, name, retriesWithin, "Warning SyncLoadBalancerFailed", "after its deadline")
	b.keepsTheLease(t, leader, standby)
	s.behaves(t, name)
	s.awaitServingWithin(t, crashHandOver+noise, name, s.hosts...)
	noOverlap(t, leader, standby)
	s.createdOnce(t)
}

// The leader is killed while the cloud makes a load balancer, and the reply
// finds nobody. The other one finds what was made.
func leaderIsKilledWhileTheCloudIsAtIt(t *testing.T, b *bed) {
	s := b.classed(t)
	leader, standby := s.replicas(t, setup{})
	trap := leader.cloud.Trap(creations, 1, proxy.After)
	name := s.balanced(t, "killed")
	sprung(t, trap)
	died := time.Now()
	leader.Kill()
	trap.Cut()
	s.awaitServingWithin(t, crashHandOver+noise, name, s.hosts...)
	t.Logf("the leader was killed in the middle of an ensure: the Service was served by the other after %v", time.Since(died).Round(time.Millisecond))
	noOverlap(t, leader, standby)
	s.createdOnce(t)
}

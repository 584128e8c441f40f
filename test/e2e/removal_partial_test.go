package e2e

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// Wrong answers delete no Node, even if they begin late or are about only some of
// the instances.
func TestPartlyWrongAnswersDeleteNothing(t *testing.T) {
	b := onOwn(t)
	t.Run("OneRegionOfTwo", func(t *testing.T) { testLosesARegion(t, b) })
	t.Run("CredentialsDieAfterTheWitness", func(t *testing.T) { testLosesItsCredentials(t, b) })
	t.Run("KubeletReportsNotReady", func(t *testing.T) { testReportsNotReady(t, b) })
}

// testLosesARegion: the cloud answers 404 for all instances of one of two regions,
// as it does for an account without access to that region. Instances of the other
// region are not witnesses.
func testLosesARegion(t *testing.T, b *bed.Bed) {
	var wanted []simulator.Instance
	for n := range 20 {
		region := []string{"east", "west"}[n/10]
		wanted = append(wanted, simulator.Instance{Name: b.Name(region), Region: region, Zone: region + "-" + string("ab"[n%2])})
	}
	p := nodepool.Of(t, b, wanted...)
	west := p.Members[10:]
	p.Runs(t, daemon.Setup{Cloud: p.Cloud.URL, Flags: nodepool.Quickly("--node-deletion-over-budget-after=10s")})
	p.Cloud.Fail(t, simulator.Fault{Name: "lost", Kind: simulator.FaultNotFound, Match: "west-*"})

	p.Silence(t, west[9])
	p.AwaitHeld(t, west[9:], "CloudContradictsKubelet", "NoWitness")
	p.AwaitAsked(t, 2*nodepool.Absences, west[9])
	describe(t, p.Bed, "one of the lost region is silent", west[9].Name)

	p.Silence(t, west...)
	p.AwaitHeld(t, west[:9], "NoWitness", "TooManyAbsent")
	p.AwaitShown(t, west, corev1.ConditionTrue)
	p.AwaitAsked(t, 2*nodepool.Absences, west...)
	describe(t, p.Bed, "all of the lost region are silent", west[0].Name)
	p.Stay(t, p.Members...)
	noStream(t, p, west)

	// The other region works as before.
	control(t, p)
}

// testLosesItsCredentials: the cloud has just confirmed other instances when the
// credentials become invalid. From then on the cloud answers 404 for everything.
// Nodes whose instances the cloud confirmed earlier do not count as witnesses.
func testLosesItsCredentials(t *testing.T, b *bed.Bed) {
	for _, witnesses := range []int{10, 1} {
		t.Run(fmt.Sprintf("%dWitnesses", witnesses), func(t *testing.T) {
			p := nodepool.New(t, b, 12)
			gone, healthy := p.Members[0], p.Members[1]
			front := bed.BeforeCloud(t, p.Cloud)
			trap := front.Trap(func(r proxy.Request) bool {
				return r.Method == http.MethodGet && slices.ContainsFunc(p.Members[2:], func(m *nodepool.Member) bool { return m.Instance.ID == path.Base(r.Path) })
			}, 1, proxy.After)
			p.Runs(t, daemon.Setup{Cloud: front.URL(), Flags: nodepool.Quickly(fmt.Sprintf("--node-deletion-witnesses=%d", witnesses))})
			p.Terminate(t, gone)
			p.Silence(t, gone, healthy)
			if !timeout.Closed(nodepool.GoneWithin, trap.Sprung()) {
				t.Fatal("no other instance was asked for")
			}
			p.Cloud.Fail(t, simulator.Fault{Name: "dead", Kind: simulator.FaultNotFound})
			trap.Release()

			p.AwaitAsked(t, 2*nodepool.Absences, healthy)
			p.AwaitHeld(t, []*nodepool.Member{healthy}, "CloudContradictsKubelet", "NoWitness")
			describe(t, p.Bed, "credentials died after the witness", healthy.Name)
			p.Stay(t, p.Members[1:]...)
			p.Cloud.Heal(t)
			p.AwaitGone(t, nodepool.GoneWithin, gone)
			p.Stay(t, p.Members[1:]...)
		})
	}
}

// testReportsNotReady: a kubelet that reports that it is not ready is alive. The
// cloud is not asked about the kubelet's instance.
func testReportsNotReady(t *testing.T, b *bed.Bed) {
	const silentAfter = 20 * time.Second // The API server of a busy machine may need seconds for a report.
	p := nodepool.New(t, b, 8)
	alive := p.Members[0]
	p.Reports(t, corev1.ConditionFalse, time.Now(), alive)
	p.Cloud.Fail(t, simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound})
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--node-deletion-silent-after=" + silentAfter.String())})

	began := time.Now()
	var last time.Time
	for tick := time.NewTicker(time.Second); time.Since(began) < 2*silentAfter; <-tick.C {
		last = time.Now()
		p.Reports(t, corev1.ConditionFalse, last, alive)
	}
	if all := alive.About(nodepool.AnswersOf(t, p.Cloud)); len(all) > 0 {
		t.Errorf("the cloud was asked %d times about the instance of a kubelet that reports", len(all))
	}
	p.Stay(t, p.Members...)

	// Now the kubelet is silent, and the cloud calls all instances absent.
	p.AwaitAsked(t, 2*nodepool.Absences, alive)
	for _, a := range alive.About(nodepool.AnswersOf(t, p.Cloud)) {
		if silent := a.Began.Sub(last.Truncate(time.Second)); silent < silentAfter {
			t.Errorf("the cloud was asked %v after the kubelet's last report, want %v", silent, silentAfter)
		}
	}
	p.AwaitHeld(t, []*nodepool.Member{alive}, "CloudContradictsKubelet", "NoWitness")
	describe(t, p.Bed, "reported NotReady, and then nothing more", alive.Name)
	p.Stay(t, p.Members...)

	p.Cloud.Heal(t)
	p.Terminate(t, alive)
	p.AwaitGone(t, nodepool.GoneWithin, alive)
}

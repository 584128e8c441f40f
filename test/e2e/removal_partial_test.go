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
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// Wrong answers that come late, or about a part of the instances.
func TestPartlyWrongAnswersDeleteNothing(t *testing.T) {
	b := onOwn(t)
	t.Run("OneRegionOfTwo", func(t *testing.T) { testLosesARegion(t, b) })
	t.Run("CredentialsDieAfterTheWitness", func(t *testing.T) { testLosesItsCredentials(t, b) })
	t.Run("KubeletReportsNotReady", func(t *testing.T) { testReportsNotReady(t, b) })
}

// testLosesARegion: the cloud answers 404 for all instances of one of two regions, as for an account without access to
// it. Instances of the other region are no witnesses.
func testLosesARegion(t *testing.T, b *bed.Bed) {
	var wanted []simulator.Instance
	for n := range 20 {
		region := []string{"east", "west"}[n/10]
		wanted = append(wanted, simulator.Instance{Name: b.Name(region), Region: region, Zone: region + "-" + string("ab"[n%2])})
	}
	p := newPoolOf(t, b, wanted...)
	west := p.members[10:]
	p.runs(t, daemon.Setup{Cloud: p.cloud.URL, Flags: quickly("--node-deletion-over-budget-after=10s")})
	p.cloud.Fail(t, simulator.Fault{Name: "lost", Kind: simulator.FaultNotFound, Match: "west-*"})

	p.silence(t, west[9])
	p.awaitHeld(t, west[9:], "CloudContradictsKubelet", "NoWitness")
	p.awaitAsked(t, 2*absences, west[9])
	describe(t, p.Bed, "one of the lost region is silent", west[9].Name)

	p.silence(t, west...)
	p.awaitHeld(t, west[:9], "NoWitness", "TooManyAbsent")
	p.awaitShown(t, west, corev1.ConditionTrue)
	p.awaitAsked(t, 2*absences, west...)
	describe(t, p.Bed, "all of the lost region are silent", west[0].Name)
	p.stay(t, p.members...)
	p.noStream(t, west)

	// The other region works as before.
	p.control(t)
}

// testLosesItsCredentials: the cloud has just confirmed other instances when the credentials become invalid, and it
// answers 404 for everything. Answers from before do not count as witnesses.
func testLosesItsCredentials(t *testing.T, b *bed.Bed) {
	for _, witnesses := range []int{10, 1} {
		t.Run(fmt.Sprintf("%dWitnesses", witnesses), func(t *testing.T) {
			p := newPool(t, b, 12)
			gone, healthy := p.members[0], p.members[1]
			front := bed.BeforeCloud(t, p.cloud)
			trap := front.Trap(func(r proxy.Request) bool {
				return r.Method == http.MethodGet && slices.ContainsFunc(p.members[2:], func(m *member) bool { return m.instance.ID == path.Base(r.Path) })
			}, 1, proxy.After)
			p.runs(t, daemon.Setup{Cloud: front.URL(), Flags: quickly(fmt.Sprintf("--node-deletion-witnesses=%d", witnesses))})
			p.terminate(t, gone)
			p.silence(t, gone, healthy)
			select {
			case <-trap.Sprung():
			case <-time.After(goneWithin):
				t.Fatal("no other instance was asked for")
			}
			p.cloud.Fail(t, simulator.Fault{Name: "dead", Kind: simulator.FaultNotFound})
			trap.Release()

			p.awaitAsked(t, 2*absences, healthy)
			p.awaitHeld(t, []*member{healthy}, "CloudContradictsKubelet", "NoWitness")
			describe(t, p.Bed, "credentials died after the witness", healthy.Name)
			p.stay(t, p.members[1:]...)
			p.cloud.Heal(t)
			p.awaitGone(t, goneWithin, gone)
			p.stay(t, p.members[1:]...)
		})
	}
}

// testReportsNotReady: a kubelet that reports that it is not ready is alive. The cloud is not asked about its instance.
func testReportsNotReady(t *testing.T, b *bed.Bed) {
	const silentAfter = 8 * time.Second
	p := newPool(t, b, 8)
	alive := p.members[0]
	p.reports(t, corev1.ConditionFalse, time.Now(), alive)
	p.cloud.Fail(t, simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound})
	p.runs(t, daemon.Setup{Flags: quickly("--node-deletion-silent-after=" + silentAfter.String())})

	began := time.Now()
	var last time.Time
	for tick := time.NewTicker(time.Second); time.Since(began) < 2*silentAfter; <-tick.C {
		last = time.Now()
		p.reports(t, corev1.ConditionFalse, last, alive)
	}
	if all := alive.about(answersOf(t, p.cloud)); len(all) > 0 {
		t.Errorf("the cloud was asked %d times about the instance of a kubelet that reports", len(all))
	}
	p.stay(t, p.members...)

	// Now the kubelet is silent, and the cloud calls all instances absent.
	p.awaitAsked(t, 2*absences, alive)
	for _, a := range alive.about(answersOf(t, p.cloud)) {
		if silent := a.began.Sub(last.Truncate(time.Second)); silent < silentAfter {
			t.Errorf("the cloud was asked %v after the kubelet's last report, want %v", silent, silentAfter)
		}
	}
	p.awaitHeld(t, []*member{alive}, "CloudContradictsKubelet", "NoWitness")
	describe(t, p.Bed, "reported NotReady, and then nothing more", alive.Name)
	p.stay(t, p.members...)

	p.cloud.Heal(t)
	p.terminate(t, alive)
	p.awaitGone(t, goneWithin, alive)
}

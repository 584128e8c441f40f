package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// With default flags, and Nodes that are not young any more: when 5 % of the
// instances are terminated, their Nodes go soon after their kubelets are
// silent.
func TestTerminatedInstancesAreGoneInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes six minutes")
	}
	const (
		nodes, ended = 200, 10
		young        = 5 * time.Minute
		within       = 45 * time.Second
	)
	skipWithoutPrograms(t)
	b := ownBed(t)
	p := b.pool(t, nodes)
	t.Parallel() // They grow old while other tests run.
	await(t, young+time.Minute, func(context.Context) error {
		if age := time.Since(p.members[nodes-1].CreationTimestamp.Time); age < young {
			return fmt.Errorf("the Nodes are %v old", age)
		}
		return nil
	})
	d := p.runs(t, setup{cloud: p.cloud.url})
	await(t, soon, func(context.Context) error {
		if !d.says("Controller runs", lifecycleSource) {
			return errors.New("the controller does not run")
		}
		return nil
	})
	var gone []*member
	for n := range ended {
		m := p.members[n*nodes/ended]
		m.rules.absentFor = 30 * time.Second
		gone = append(gone, m)
	}
	p.terminate(t, gone...)
	silent := time.Now()
	p.silence(t, gone...)
	p.awaitGone(t, 3*time.Minute, gone...)

	var first, last time.Duration
	for n, r := range p.deletions(t).done() {
		last = r.Time.Sub(silent)
		if n == 0 {
			first = last
		}
	}
	t.Logf("%d of %d instances terminated: their Nodes were deleted %.1f s to %.1f s after Ready=Unknown", ended, nodes, first.Seconds(), last.Seconds())
	if last > within {
		t.Errorf("the last Node was deleted %v after Ready=Unknown, want %v", last, within)
	}
}

// 60 % of the instances are terminated, and nobody has announced it: held, with
// a message that says so, and then gone at a bounded rate. Meanwhile a person
// deletes one of the Nodes.
func TestCrowdIsHeldAndThenGoesAtABoundedRate(t *testing.T) {
	const (
		nodes, ended = 20, 12
		heldFor      = 40 * time.Second
		pace         = 4 // a minute
	)
	b := onOwn(t)
	p := b.pool(t, nodes)
	p.runs(t, setup{flags: quickly("--node-deletion-over-budget-after="+heldFor.String(), fmt.Sprintf("--node-deletion-over-budget-rate-nodes=%d", pace))})
	gone, mine := p.members[nodes-ended:nodes-1], p.members[nodes-1]
	for _, m := range gone {
		m.rules.absentFor = heldFor
	}
	p.terminate(t, append(gone, mine)...)
	p.silence(t, append(gone, mine)...)
	p.awaitHeld(t, append(gone, mine), "TooManyAbsent")
	p.stay(t, p.members...)
	p.describe(t, "60 % are gone, unannounced", gone[0].Name)

	p.byHand(t, mine)
	p.awaitPaced(t, len(gone)-pace, gone)
	p.awaitGone(t, 4*time.Minute, gone...)
	p.awaitTold(t, soon, gone, "Normal NodeDeletionResumed")
	done := p.deletions(t).done()
	// The last three are no crowd any more.
	for n := 0; n+pace < len(done)-3; n++ {
		if took := done[n+pace].Time.Sub(done[n].Time); took < time.Minute {
			t.Errorf("%d Nodes of a crowd were deleted within %v, want at most %d in a minute", pace+1, took, pace)
		}
	}
	t.Logf("%d Nodes were deleted within %v", len(done), done[len(done)-1].Time.Sub(done[0].Time).Round(time.Second))
	for _, r := range p.deletions(t) {
		if r.Object.Name == mine.Name {
			t.Errorf("the Node that a person has deleted was deleted again: %v", r)
		}
	}
	told, err := p.toldBy(t.Context(), lifecycleSource, mine.Name)
	if err != nil {
		t.Fatal(err)
	}
	if count(told, "Warning DeletingNodeFailed") > 0 {
		t.Errorf("a Node that a person has deleted: %q", told)
	}
}

// awaitPaced waits until that many Nodes say that they wait for their turn.
func (p *pool) awaitPaced(t *testing.T, want int, members []*member) {
	t.Helper()
	await(t, 2*time.Minute, func(ctx context.Context) error {
		n := 0
		for _, m := range members {
			told, err := p.toldBy(ctx, lifecycleSource, m.Name)
			if err != nil {
				return err
			}
			n += min(count(told, "Warning NodeDeletionHeld: DeletionRateLimited: "), 1)
		}
		if n < want {
			return fmt.Errorf("%d Nodes say that they wait for their turn, want %d", n, want)
		}
		return nil
	})
}

// What is to go goes, soon.
func TestLegitimateDeletions(t *testing.T) {
	b := onOwn(t)
	t.Run("AnnouncedByTheAutoscaler", b.announced)
	t.Run("AllButOne", b.allButOne)
	t.Run("TheLastNode", b.theLastNode)
	t.Run("ErrorsBetweenTheAbsences", b.errorsBetween)
	t.Run("WithoutProviderID", b.withoutProviderID)
	t.Run("SwitchedOff", b.switchedOff)
	t.Run("OnlyTheNodeController", b.onlyTheNodeController)
	t.Run("OnlyTheLifecycleController", b.onlyTheLifecycleController)
	t.Run("RecreatedWhileEvidenceIsGathered", b.recreatedMeanwhile)
	t.Run("ChangedWhileTheDeletionIsOnItsWay", b.changedOnTheWay)
	t.Run("APIServerRestarts", b.restartsMeanwhile)
}

// announced: those who take machines away say so by a taint, and no crowd of
// them is held.
func (b *bed) announced(t *testing.T) {
	p := b.pool(t, 20)
	gone := p.members[8:]
	for n, m := range gone {
		key := []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}[n%2]
		p.patch(t, m.Name, `{"spec":{"taints":[{"key":"`+key+`","value":"1700000000","effect":"NoSchedule"}]}}`)
	}
	p.runs(t, setup{flags: quickly()})
	p.terminate(t, gone...)
	began := time.Now()
	p.silence(t, gone...)
	p.awaitGone(t, goneWithin, gone...)
	t.Logf("12 of 20 announced Nodes were gone after %v", time.Since(began).Round(time.Second))
	for _, m := range gone {
		told, err := p.toldBy(t.Context(), lifecycleSource, m.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range []string{"TooManyAbsent", "DeletionRateLimited"} {
			if count(told, "Warning NodeDeletionHeld: "+reason) > 0 {
				t.Errorf("node %s was held, though its removal was announced: %q", m.Name, told)
			}
		}
	}
}

// allButOne: the only Node that is left is witness enough. Three are no crowd,
// four are, for a while.
func (b *bed) allButOne(t *testing.T) {
	for _, gone := range []int{3, 4} {
		t.Run(fmt.Sprintf("%dOf%d", gone, gone+1), func(t *testing.T) {
			flags := quickly()
			p := b.pool(t, gone+1)
			if gone > 3 {
				const heldFor = 10 * time.Second
				flags = quickly("--node-deletion-over-budget-after=" + heldFor.String())
				for _, m := range p.members {
					m.rules.absentFor = heldFor
				}
			}
			p.runs(t, setup{flags: flags})
			p.terminate(t, p.members[1:]...)
			p.silence(t, p.members[1:]...)
			p.awaitGone(t, goneWithin, p.members[1:]...)
			p.stay(t, p.members[0])
		})
	}
}

// theLastNode has nobody who could vouch for the cloud's answer: held, with the
// way out in the message, unless the daemon is told how long to wait.
func (b *bed) theLastNode(t *testing.T) {
	const after = 10 * time.Second
	for _, row := range []struct {
		name string
		flag string
		rules
	}{
		{"IsHeld", "--node-deletion-without-witness-after=0s", rules{}},
		{"GoesIfSaidSo", "--node-deletion-without-witness-after=" + after.String(), rules{absences: absences, absentFor: after, alone: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := b.pool(t, 1)
			only := p.members[0]
			only.rules = row.rules
			p.runs(t, setup{flags: quickly(row.flag)})
			p.silence(t, only)
			p.awaitAsked(t, 1, only) // It was there.
			p.terminate(t, only)
			if row.alone {
				p.awaitGone(t, goneWithin, only)
				return
			}
			p.awaitHeld(t, p.members, "NoWitness")
			told, err := p.toldBy(t.Context(), lifecycleSource, only.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(told, func(e string) bool { return strings.Contains(e, "NoWitness") && strings.Contains(e, "by hand") }) {
				t.Errorf("the events do not say that the Node may be deleted by hand: %q", told)
			}
			p.awaitAsked(t, 2*absences, only)
			p.stay(t, only)
			p.describe(t, "the last Node", only.Name)
		})
	}
}

// errorsBetween: an error neither counts nor takes back what was said.
func (b *bed) errorsBetween(t *testing.T) {
	p := b.pool(t, 6)
	m := p.members[3]
	p.terminate(t, m)
	p.runs(t, setup{flags: quickly()})
	p.silence(t, m)
	p.awaitAsked(t, 1, m)
	p.cloud.sets(t, simulator.Fault{Name: "now-and-then", Kind: simulator.FaultOutage, Match: m.instance.ID, Count: 2})
	p.awaitGone(t, goneWithin, m)
	faults, err := p.cloud.Faults(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) != 1 || faults[0].Hits == 0 {
		t.Errorf("no call has met an error: %+v", faults)
	}
}

// withoutProviderID: a Node that has none is looked for by its name. The older
// interface says absent in another way then.
func (b *bed) withoutProviderID(t *testing.T) {
	for _, row := range []struct {
		provider string
		id       func(simulator.Instance) string
	}{{"modern", providerID}, {"legacy", testID}} {
		t.Run(row.provider, func(t *testing.T) {
			p := b.poolNamed(t, row.id, make([]simulator.Instance, 6)...)
			i := p.instance(t, simulator.Instance{Name: p.name("unnamed")})
			node := initialisedNode(i)
			node.Spec.ProviderID = ""
			gone := []*member{p.members[0], p.join(t, node, i)}
			p.runs(t, setup{program: testCCM, provider: row.provider, flags: quickly()})
			p.terminate(t, gone...)
			p.silence(t, append(gone, p.members[1])...)
			p.awaitGone(t, goneWithin, gone...)
			p.awaitAsked(t, 1, p.members[1])
			p.stay(t, p.members[1:6]...)
		})
	}
}

// switchedOff: nothing is deleted, and each Node says so.
func (b *bed) switchedOff(t *testing.T) {
	p := b.pool(t, 6)
	m := p.members[2]
	p.runs(t, setup{flags: quickly("--node-deletion=false")})
	p.terminate(t, m)
	p.silence(t, m)
	p.awaitHeld(t, []*member{m}, "DeletionDisabled")
	p.awaitAsked(t, absences, m)
	p.stay(t, p.members...)
	p.describe(t, "--node-deletion=false", m.Name)
}

// onlyTheNodeController initialises, and deletes nothing.
func (b *bed) onlyTheNodeController(t *testing.T) {
	p := b.pool(t, 6)
	m := p.members[2]
	p.terminate(t, m)
	p.silence(t, m)
	p.runs(t, setup{flags: quickly("--controllers=cloud-node-controller", "--node-status-update-frequency=2s")})
	fresh := p.join(t, plain(m.Name+"-fresh"), p.instance(t, simulator.Instance{Name: m.Name + "-fresh"}))
	p.awaitNode(t, fresh.Name, soon, initialized)
	p.awaitLooks(t, p.cloud, 5)
	p.stay(t, p.members...)
	told, err := p.toldBy(t.Context(), lifecycleSource, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) > 0 {
		t.Errorf("events of the controller that is off: %q", told)
	}
}

// onlyTheLifecycleController deletes, and initialises nothing.
func (b *bed) onlyTheLifecycleController(t *testing.T) {
	p := b.pool(t, 6)
	m := p.members[2]
	fresh := p.join(t, plain(m.Name+"-fresh"), p.instance(t, simulator.Instance{Name: m.Name + "-fresh"}))
	p.runs(t, setup{flags: quickly("--controllers=cloud-node-lifecycle-controller")})
	p.terminate(t, m)
	p.silence(t, m)
	p.awaitGone(t, goneWithin, m)
	if node := p.node(t, fresh.Name); !tainted(node) || node.Spec.ProviderID != "" {
		t.Errorf("node %s is initialised: %+v", node.Name, node.Spec)
	}
	p.awaitTold(t, time.Minute, []*member{m}, "Normal DeletingNode")
}

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
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// 5 % of the instances are terminated. Their Nodes are deleted soon after the kubelets
// fall silent. The flags are the defaults, and the Nodes are no longer young.
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
	p := nodepool.New(t, b, nodes)
	t.Parallel() // The Nodes grow old while other tests run.
	expect.Within(t, young+time.Minute, func(context.Context) error {
		if age := time.Since(p.Members[nodes-1].CreationTimestamp.Time); age < young {
			return fmt.Errorf("the Nodes are %v old", age)
		}
		return nil
	})
	d := p.Runs(t, daemon.Setup{Cloud: p.Cloud.URL})
	expect.Within(t, expect.Soon, func(context.Context) error {
		if !d.Logged("Controller runs", nodepool.Source) {
			return errors.New("the controller does not run")
		}
		return nil
	})
	var gone []*nodepool.Member
	for n := range ended {
		m := p.Members[n*nodes/ended]
		m.Rules.AbsentFor = 30 * time.Second
		gone = append(gone, m)
	}
	p.Terminate(t, gone...)
	silent := time.Now()
	p.Silence(t, gone...)
	p.AwaitGone(t, within, gone...)

	var first, last time.Duration
	for n, r := range p.Deletions(t).Done() {
		last = r.Time.Sub(silent)
		if n == 0 {
			first = last
		}
	}
	t.Logf("%d of %d instances terminated: their Nodes were deleted %.1f s to %.1f s after Ready=Unknown", ended, nodes, first.Seconds(), last.Seconds())
}

// 60 % of the instances are terminated, and nobody has announced it. The daemon
// holds the deletions, and a message says so. Then it makes the deletions at a
// limited rate. Meanwhile a person deletes one of the Nodes.
func TestNodesOverTheBudgetAreHeldAndThenDeletedAtABoundedRate(t *testing.T) {
	const (
		nodes, ended = 20, 12
		heldFor      = 90 * time.Second // on a busy machine, it takes a while to write and read all events
		rate         = 4                // a minute
	)
	b := onOwn(t)
	p := nodepool.New(t, b, nodes)
	gone, mine := p.Members[nodes-ended:nodes-1], p.Members[nodes-1]
	for _, m := range gone {
		m.Rules.AbsentFor = heldFor
	}
	p.Terminate(t, append(gone, mine)...)
	p.Silence(t, append(gone, mine)...)
	// The daemon sees all absent Nodes from its start.
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--node-deletion-over-budget-after="+heldFor.String(), fmt.Sprintf("--node-deletion-over-budget-rate-nodes=%d", rate))})
	p.AwaitHeld(t, append(gone, mine), "TooManyAbsent")
	p.Stay(t, p.Members...)
	p.ByHand(t, mine)
	describe(t, p.Bed, "60 % are gone, unannounced", gone[0].Name)

	awaitRateLimited(t, p, len(gone)-rate, gone)
	p.AwaitGone(t, 4*time.Minute, gone...)
	p.AwaitTold(t, expect.Soon, gone, "Normal NodeDeletionResumed")
	done := p.Deletions(t).Done()
	// The last three deletions are within the budget again.
	for n := 0; n+rate < len(done)-3; n++ {
		if took := done[n+rate].Time.Sub(done[n].Time); took < time.Minute {
			t.Errorf("%d Nodes over the budget were deleted within %v, want at most %d in a minute", rate+1, took, rate)
		}
	}
	t.Logf("%d Nodes were deleted within %v", len(done), done[len(done)-1].Time.Sub(done[0].Time).Round(time.Second))
	for _, r := range p.Deletions(t) {
		if r.Object.Name == mine.Name {
			t.Errorf("the Node that a person has deleted was deleted again: %v", r)
		}
	}
	told, err := p.EventsOf(t.Context(), nodepool.Source, mine.Name)
	if err != nil {
		t.Fatal(err)
	}
	if expect.CountPrefix(told, "Warning DeletingNodeFailed") > 0 {
		t.Errorf("a Node that a person has deleted: %q", told)
	}
}

// awaitRateLimited waits until this many Nodes say that they wait for their turn.
func awaitRateLimited(t *testing.T, p *nodepool.Pool, want int, members []*nodepool.Member) {
	t.Helper()
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
		n := 0
		for _, m := range members {
			told, err := p.EventsOf(ctx, nodepool.Source, m.Name)
			if err != nil {
				return err
			}
			n += min(expect.CountPrefix(told, "Warning NodeDeletionHeld: DeletionRateLimited: "), 1)
		}
		if n < want {
			return fmt.Errorf("%d Nodes say that they wait for their turn, want %d", n, want)
		}
		return nil
	})
}

// Nodes of terminated instances are deleted soon, unless a flag, a change or the lack
// of a witness prevents it.
func TestLegitimateDeletions(t *testing.T) {
	b := onOwn(t)
	t.Run("AnnouncedByTheAutoscaler", func(t *testing.T) { testAnnounced(t, b) })
	t.Run("SixOfTenTerminated", func(t *testing.T) { testTerminated(t, b) })
	t.Run("AllButOne", func(t *testing.T) { testAllButOne(t, b) })
	t.Run("TheLastNode", func(t *testing.T) { testTheLastNode(t, b) })
	t.Run("ErrorsBetweenTheAbsences", func(t *testing.T) { testErrorsBetween(t, b) })
	t.Run("WithoutProviderID", func(t *testing.T) { testWithoutProviderID(t, b) })
	t.Run("SwitchedOff", func(t *testing.T) { testSwitchedOff(t, b) })
	t.Run("OnlyTheNodeController", func(t *testing.T) { testOnlyTheNodeController(t, b) })
	t.Run("OnlyTheLifecycleController", func(t *testing.T) { testOnlyTheLifecycleController(t, b) })
	t.Run("RecreatedWhileEvidenceIsGathered", func(t *testing.T) { testRecreatedMeanwhile(t, b) })
	t.Run("ChangedWhileTheDeletionIsOnItsWay", func(t *testing.T) { testChangedOnTheWay(t, b) })
	t.Run("APIServerRestarts", func(t *testing.T) { testRestartsMeanwhile(t, b) })
}

// testAnnounced: Nodes with the autoscaler's taint are not held, no matter how many
// there are.
func testAnnounced(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 20)
	gone := p.Members[8:]
	for n, m := range gone {
		key := []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}[n%2]
		p.Patch(t, m.Name, `{"spec":{"taints":[{"key":"`+key+`","value":"1700000000","effect":"NoSchedule"}]}}`)
	}
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly()})
	p.Terminate(t, gone...)
	began := time.Now()
	p.Silence(t, gone...)
	p.AwaitGone(t, nodepool.GoneWithin, gone...)
	t.Logf("12 of 20 announced Nodes were gone after %v", time.Since(began).Round(time.Second))
	for _, m := range gone {
		told, err := p.EventsOf(t.Context(), nodepool.Source, m.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range []string{"TooManyAbsent", "DeletionRateLimited"} {
			if expect.CountPrefix(told, "Warning NodeDeletionHeld: "+reason) > 0 {
				t.Errorf("node %s was held, though its removal was announced: %q", m.Name, told)
			}
		}
	}
}

// testTerminated: six of ten machines end together. If the cloud lists them as terminated,
// their Nodes are deleted at once. If it only calls them absent, they are held.
func testTerminated(t *testing.T, b *bed.Bed) {
	for _, listed := range []bool{true, false} {
		t.Run(fmt.Sprintf("Listed=%v", listed), func(t *testing.T) {
			p := nodepool.Listing(t, b, 10)
			gone := p.Members[4:]
			for _, m := range gone {
				m.Rules.Terminated = listed
			}
			p.Runs(t, daemon.Setup{Terminations: listed, Flags: nodepool.Quickly()})
			p.Terminate(t, gone...)
			began := time.Now()
			p.Silence(t, gone...)
			if !listed {
				p.AwaitHeld(t, gone, "TooManyAbsent")
				p.Stay(t, p.Members...)
				return
			}
			p.AwaitGone(t, nodepool.GoneWithin, gone...)
			t.Logf("6 of 10 terminated Nodes were gone after %v", time.Since(began).Round(time.Second))
			p.Stay(t, p.Members[:4]...)
		})
	}
}

// testAllButOne: all instances but one are terminated. The Node of the last instance is
// enough as a witness. Three deletions are within the budget. Four are held for a while.
func testAllButOne(t *testing.T, b *bed.Bed) {
	const heldFor = 10 * time.Second
	for _, gone := range []int{3, 4} {
		t.Run(fmt.Sprintf("%dOf%d", gone, gone+1), func(t *testing.T) {
			flags := nodepool.Quickly()
			p := nodepool.New(t, b, gone+1)
			if gone > 3 {
				flags = nodepool.Quickly("--node-deletion-over-budget-after=" + heldFor.String())
			}
			p.Terminate(t, p.Members[1:]...)
			p.Silence(t, p.Members[1:]...)
			p.Runs(t, daemon.Setup{Flags: flags}) // The daemon sees all absent Nodes from its start.
			p.AwaitGone(t, nodepool.GoneWithin, p.Members[1:]...)
			p.Stay(t, p.Members[0])
			if gone > 3 {
				heldAtFirst(t, p, gone, heldFor)
			}
		})
	}
}

// heldAtFirst requires that the Node that was deleted first had been absent for this
// time. After its deletion, the other Nodes are within the budget.
func heldAtFirst(t *testing.T, p *nodepool.Pool, deletions int, absentFor time.Duration) {
	t.Helper()
	expect.Within(t, expect.Soon, func(context.Context) error { // Wait until the audit log has all deletions.
		if n := len(p.Deletions(t).Done()); n < deletions {
			return fmt.Errorf("the audit log has %d deletions, want %d", n, deletions)
		}
		return nil
	})
	first := p.Deletions(t).Done()[0].Object.Name
	for _, m := range p.Members {
		if m.Name == first {
			m.Rules.AbsentFor = absentFor
		}
	}
}

// testTheLastNode covers the last Node: no other Node can confirm the cloud's answer.
// By default, the deletion is held, and the message says what to do. With a flag, the
// Node is deleted after the time in that flag.
func testTheLastNode(t *testing.T, b *bed.Bed) {
	const after = 10 * time.Second
	for _, row := range []struct {
		name string
		flag string
		nodepool.Rules
	}{
		{"IsHeld", "--node-deletion-without-witness-after=0s", nodepool.Rules{}},
		{"GoesIfSaidSo", "--node-deletion-without-witness-after=" + after.String(), nodepool.Rules{Absences: nodepool.Absences, AbsentFor: after, Alone: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := nodepool.New(t, b, 1)
			only := p.Members[0]
			only.Rules = row.Rules
			p.Runs(t, daemon.Setup{Flags: nodepool.Quickly(row.flag)})
			p.Silence(t, only)
			p.AwaitAsked(t, 1, only) // The cloud has confirmed the instance.
			p.Terminate(t, only)
			if row.Alone {
				p.AwaitGone(t, nodepool.GoneWithin, only)
				return
			}
			p.AwaitHeld(t, p.Members, "NoWitness")
			told, err := p.EventsOf(t.Context(), nodepool.Source, only.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(told, func(e string) bool { return strings.Contains(e, "NoWitness") && strings.Contains(e, "by hand") }) {
				t.Errorf("the events do not say that the Node may be deleted by hand: %q", told)
			}
			p.AwaitAsked(t, 2*nodepool.Absences, only)
			p.Stay(t, only)
			describe(t, p.Bed, "the last Node", only.Name)
		})
	}
}

// testErrorsBetween: an error neither counts as an absence nor resets the
// evidence.
func testErrorsBetween(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 6)
	m := p.Members[3]
	p.Terminate(t, m)
	// The first answer is "absent". The next two are errors.
	p.Cloud.Fail(t, simulator.Fault{Name: "now-and-then", Kind: simulator.FaultOutage, Match: m.Instance.ID, Skip: 1, Count: 2})
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly()})
	p.Silence(t, m)
	p.AwaitGone(t, nodepool.GoneWithin, m)
	faults, err := p.Cloud.Faults(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) != 1 || faults[0].Hits == 0 {
		t.Errorf("no call has met an error: %+v", faults)
	}
}

// testWithoutProviderID: there are two kinds of Nodes without a provider ID. If the Node
// waits to be initialised, the daemon looks for its instance by name, and deletes the
// Node. Otherwise the Node is somebody's own machine, and stays. The older interfaces say
// "absent" in another way, so the test also runs with a provider that has the older
// interfaces.
func testWithoutProviderID(t *testing.T, b *bed.Bed) {
	for _, row := range []struct {
		provider string
		id       func(simulator.Instance) string
	}{{"modern", nodes.ProviderID}, {"legacy", testID}} {
		t.Run(row.provider, func(t *testing.T) {
			p := nodepool.WithIDs(t, b, row.id, make([]simulator.Instance, 6)...)
			i := p.Instance(t, simulator.Instance{Name: p.Name("unnamed")})
			node := nodes.NewInitialized(i)
			node.Spec.ProviderID = ""
			own := p.Join(t, node, i)
			i = p.Instance(t, simulator.Instance{Name: p.Name("fresh")})
			gone := []*nodepool.Member{p.Members[0], p.Join(t, nodes.New(i.Name), i)}
			p.Terminate(t, own, gone[1])
			p.Silence(t, own, gone[1])
			p.Runs(t, daemon.Setup{Provider: row.provider, Flags: nodepool.Quickly()})
			p.Terminate(t, gone[0])
			p.Silence(t, gone[0], p.Members[1])
			p.AwaitGone(t, nodepool.GoneWithin, gone...)
			p.AwaitHeld(t, []*nodepool.Member{own}, "NotOfThisCloud")
			p.AwaitAsked(t, 1, p.Members[1])
			p.Stay(t, append(p.Members[1:6], own)...)
		})
	}
}

// testSwitchedOff: with --node-deletion=false nothing is deleted. An event reports
// this on each Node that would be deleted.
func testSwitchedOff(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 6)
	m := p.Members[2]
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--node-deletion=false")})
	p.Terminate(t, m)
	p.Silence(t, m)
	p.AwaitHeld(t, []*nodepool.Member{m}, "DeletionDisabled")
	p.AwaitAsked(t, nodepool.Absences, m)
	p.Stay(t, p.Members...)
	describe(t, p.Bed, "--node-deletion=false", m.Name)
}

// testOnlyTheNodeController runs a daemon with the Node controller only. It
// initialises Nodes, and deletes none.
func testOnlyTheNodeController(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 6)
	m := p.Members[2]
	p.Terminate(t, m)
	p.Silence(t, m)
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--controllers=cloud-node-controller", "--node-status-update-frequency=2s")})
	fresh := p.Join(t, nodes.New(m.Name+"-fresh"), p.Instance(t, simulator.Instance{Name: m.Name + "-fresh"}))
	p.AwaitNode(t, fresh.Name, expect.Soon, nodes.Initialized)
	awaitCalls(t, p.Cloud, 5)
	p.Stay(t, p.Members...)
	told, err := p.EventsOf(t.Context(), nodepool.Source, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) > 0 {
		t.Errorf("events of the controller that is off: %q", told)
	}
}

// testOnlyTheLifecycleController runs a daemon with the lifecycle controller only. It
// deletes Nodes, and initialises none.
func testOnlyTheLifecycleController(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 6)
	m := p.Members[2]
	fresh := p.Join(t, nodes.New(m.Name+"-fresh"), p.Instance(t, simulator.Instance{Name: m.Name + "-fresh"}))
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--controllers=cloud-node-lifecycle-controller")})
	p.Terminate(t, m)
	p.Silence(t, m)
	p.AwaitGone(t, nodepool.GoneWithin, m)
	if node := p.Node(t, fresh.Name); !nodes.IsTainted(node) || node.Spec.ProviderID != "" {
		t.Errorf("node %s is initialised: %+v", node.Name, node.Spec)
	}
	p.AwaitTold(t, time.Minute, []*nodepool.Member{m}, "Normal DeletingNode")
}

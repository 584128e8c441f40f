package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// wrongAnswer describes a cloud or a provider that wrongly calls existing instances
// absent.
type wrongAnswer struct {
	name  string
	fault simulator.Fault
	// provider is a provider of testccm. Empty means the simulated one.
	provider string
	// nodes is the number of Nodes, and silent is the number of silent kubelets. The
	// silent kubelets are those of the last Nodes.
	nodes, silent int
	// reasons are the reasons for which the deletions may be held.
	reasons []string
}

// wrongAnswers returns groups of wrong answers. The tests of a group share a bed.
func wrongAnswers() [][]wrongAnswer {
	everything := simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound}
	empty := simulator.Fault{Name: "wrong", Kind: simulator.FaultEmptyList}
	half := simulator.Fault{Name: "wrong", Kind: simulator.FaultTruncatedList}
	few, all := []string{"CloudContradictsKubelet", "NoWitness"}, []string{"NoWitness", "TooManyAbsent"}
	return [][]wrongAnswer{
		{
			{"NotFoundForEverythingWithTenPercentSilent", everything, "", 20, 2, few},
			{"NotFoundForEverythingWithAllSilent", everything, "", 20, 20, all},
			{"NotFoundErrorForEverythingWithTenPercentSilent", everything, "modern", 20, 2, few},
			{"NotFoundErrorForEverythingWithAllSilent", everything, "modern", 20, 20, all},
		},
		{
			{"EmptyListWithTenPercentSilent", empty, "listing", 20, 2, few},
			{"EmptyListWithAllSilent", empty, "listing", 20, 20, all},
		},
		{
			{"TruncatedListWithTenPercentSilent", half, "listing", 20, 2, few},
			{"TruncatedListWithAllSilent", half, "listing", 20, 20, all},
		},
		// The control plane is cut off from all kubelets. The Nodes that are still
		// listed are silent too, so they are not witnesses for the others.
		{{"TruncatedListOfAFewThatAreAllSilent", half, "listing", 6, 6, all}},
	}
}

// No Node is deleted when the cloud answers 404 for everything, or when its list lacks
// instances. One provider says "absent". Another returns the error "not found", and a
// flag makes the daemon take this error as an answer. In this test, deletions over the
// budget are held for a short time only. So the budget alone would not prevent them. At
// the end, one instance is really terminated, and its Node is deleted. This shows that
// deletion works.
func TestWrongAnswersDeleteNothing(t *testing.T) {
	skipWithoutPrograms(t)
	t.Parallel() // The groups run in parallel with each other and with other tests.
	for _, group := range wrongAnswers() {
		t.Run(string(group[0].fault.Kind), func(t *testing.T) {
			b := onOwn(t)
			for _, l := range group {
				t.Run(l.name, func(t *testing.T) { l.testDeletesNothing(t, nodepool.New(t, b, l.nodes)) })
			}
		})
	}
}

func (l wrongAnswer) testDeletesNothing(t *testing.T, p *nodepool.Pool) {
	s := daemon.Setup{Provider: l.provider, Flags: nodepool.Quickly("--node-status-update-frequency=2s", "--node-deletion-over-budget-after=10s")}
	if l.provider == "modern" { // With this quirk, the provider returns an error for "absent". The flag declares the error to be an answer.
		s.Settings, s.Flags = "quirks: [GoneIsNotFound]\n", append(s.Flags, "--node-deletion-not-found-error=absent")
	}
	p.Lists = l.provider == "listing"
	for _, m := range p.Members {
		m.Rules.Compared = true
	}
	d := p.Runs(t, s)
	awaitCalls(t, p.Cloud, 2) // The cloud has given correct answers before.

	p.Cloud.Fail(t, l.fault)
	silent := p.Members[len(p.Members)-l.silent:]
	p.Silence(t, silent...)
	absent := l.absent(silent)
	p.AwaitHeld(t, absent, l.reasons...)
	p.AwaitShown(t, absent, corev1.ConditionTrue, l.reasons...)
	l.awaitDenied(t, p, d, absent)
	p.Stay(t, p.Members...)
	describe(t, p.Bed, l.name, absent[0].Name)
	noStream(t, p, silent)

	p.Cloud.Heal(t)
	p.AwaitTold(t, time.Minute, absent, "Normal NodeDeletionCanceled")
	p.AwaitShown(t, absent, corev1.ConditionFalse)
	p.Wake(t, silent...)
	p.Stay(t, p.Members...)
	control(t, p)
}

// absent returns the members that the answer calls absent.
func (l wrongAnswer) absent(silent []*nodepool.Member) []*nodepool.Member {
	if l.fault.Kind == simulator.FaultTruncatedList { // The first half is still listed.
		return silent[len(silent)-min(len(silent), l.nodes/2):]
	}
	return silent
}

// awaitDenied waits until the provider has called each member absent. It requires more
// such answers, over a longer time, than a deletion needs.
func (l wrongAnswer) awaitDenied(t *testing.T, p *nodepool.Pool, d *daemon.Daemon, members []*nodepool.Member) {
	t.Helper()
	if !p.Lists {
		p.AwaitAsked(t, 2*nodepool.Absences, members...)
		return
	}
	expect.Within(t, 2*time.Minute, func(context.Context) error {
		log := d.Log()
		for _, m := range members {
			if n := strings.Count(log, fmt.Sprintf(`"Not in the list" node=%q`, m.Name)); n < 3*nodepool.Absences {
				return fmt.Errorf("node %s: the provider has said absent %d times", m.Name, n)
			}
		}
		return nil
	})
}

// noStream checks that each member has at most a few events about its held deletion.
func noStream(t *testing.T, p *nodepool.Pool, members []*nodepool.Member) {
	t.Helper()
	most := min(int(3*timeout.Factor()), 5) // The reason may change while the cloud is asked, more often on a busy machine.
	for _, m := range members {
		told, err := p.EventsOf(t.Context(), nodepool.Source, m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if n := expect.CountPrefix(told, "Warning NodeDeletionHeld"); n > most {
			t.Errorf("node %s: %d events that its deletion is held: %q", m.Name, n, told)
		}
	}
}

// control terminates one instance, and checks that its Node is deleted. Without
// this check, the test before it would prove nothing.
func control(t *testing.T, p *nodepool.Pool) {
	t.Helper()
	gone := p.Members[0]
	p.Terminate(t, gone)
	p.Silence(t, gone)
	p.AwaitGone(t, nodepool.GoneWithin, gone)
	p.AwaitTold(t, expect.Soon, []*nodepool.Member{gone},
		"Normal DeletingNode: Deleting node "+gone.Name+" because it does not exist in the cloud provider")
}

// An error is not an answer: whatever happens to the calls, no Node is deleted, and
// each Node shows the reason.
func TestCloudThatCannotBeAskedDeletesNothing(t *testing.T) {
	b := onOwn(t)
	p := nodepool.New(t, b, 20)
	p.Runs(t, daemon.Setup{Flags: nodepool.Quickly()})
	silent := p.Members[18:]
	p.Silence(t, silent...)
	for _, wrong := range []struct {
		name    string
		fault   simulator.Fault
		reasons []string
		asked   int
	}{
		{"Unauthenticated", simulator.Fault{Kind: simulator.FaultDenied, Status: http.StatusUnauthorized}, []string{"CloudDenied"}, 2},
		{"Forbidden", simulator.Fault{Kind: simulator.FaultDenied, Status: http.StatusForbidden}, []string{"CloudDenied"}, 2},
		{"Outage", simulator.Fault{Kind: simulator.FaultOutage}, []string{"CloudUnavailable"}, 2},
		{"Hang", simulator.Fault{Kind: simulator.FaultHang}, []string{"CloudSlow", "CloudTimedOut"}, 0}, // There is only one call, because it does not end.
	} {
		wrong.fault.Name = "wrong"
		p.Cloud.Fail(t, wrong.fault)
		p.AwaitHeld(t, silent, wrong.reasons...)
		p.AwaitAsked(t, wrong.asked, silent...)
		p.Stay(t, p.Members...)
		describe(t, p.Bed, wrong.name, silent[0].Name)
	}
	p.AwaitShown(t, silent, corev1.ConditionUnknown, "CloudSlow", "CloudTimedOut")
	describe(t, p.Bed, "after a minute", silent[0].Name)
	p.Cloud.Heal(t)
	p.AwaitShown(t, silent, corev1.ConditionFalse)
	p.Wake(t, silent...)
	p.Stay(t, p.Members...)
	control(t, p)
}

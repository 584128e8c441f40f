package nodelifecycle

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// died is an edit for a Node whose kubelet has last reported a minute ago, by the clock of
// the test.
func died(n *corev1.Node) {
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(-time.Minute))
}

// terminates makes the cloud list the machines of these Nodes as terminated now.
func (r *removals) terminates(names ...string) {
	r.change(func() {
		if r.ended == nil {
			r.ended = map[string]cloud.Termination{}
		}
		for _, name := range names {
			r.absent[name], r.ended[name] = true, cloud.Termination{ProviderID: "p://" + name, At: time.Now(), By: "spot"}
		}
	})
}

// Six of ten machines end together. If the cloud lists them as terminated, their Nodes are
// deleted at once; if it only calls them absent, they wait.
func TestTerminatedMachines(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(r *removals)
		within time.Duration
		want   int // Nodes that are left then
	}{
		{"AreDeletedAtOnce", func(*removals) {}, 5 * time.Second, 0},
		{"WaitIfTheCloudDoesNotListThem", func(r *removals) { r.ended = map[string]cloud.Termination{} }, 5 * time.Minute, 6},
		{"WaitIfTheProviderCannotTell", func(r *removals) { r.ended = nil }, 5 * time.Minute, 6},
		{"WaitIfTheQuestionFails", func(r *removals) { r.endedFails = errors.New("no rights") }, 5 * time.Minute, 6},
		{"WaitIfTheInstanceExists", func(r *removals) { clear(r.absent) }, time.Hour, 6},
		{"WaitIfAnotherMachineEnded", func(r *removals) {
			for name, e := range r.ended {
				e.ProviderID += "x"
				r.ended[name] = e
			}
		}, 5 * time.Minute, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, _ := fleet(6, 0, 4, died)
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				for n := range 6 {
					r.terminates(fmt.Sprint("bad-silent-", n))
				}
				r.change(func() { tt.edit(r) })
				r.after(tt.within)
				if got := r.count("bad"); got != tt.want {
					t.Errorf("%d of 6 Nodes are left after %v, want %d", got, tt.within, tt.want)
				}
			})
		})
	}
}

// The cloud is asked about the end of a machine only after it has called the machine
// absent, and once for each such answer. A final check that needs no such answer asks
// for none, because all other deletions wait for it.
func TestQuestionsAboutTerminationsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", died), old("here", died))...)
		defer func() { r.stop() }()
		r.terminates()
		r.change(func() { r.absent["n1"] = true })
		r.after(time.Hour)
		r.expect("after an hour", "here", "w1", "w2", "w3")
		if want := []string{"n1", "n1", "n1"}; !slices.Equal(r.endedAsked, want) {
			t.Errorf("asked about %v, want %v", r.endedAsked, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", died))...)
		defer func() { r.stop() }()
		r.terminates("n1")
		r.after(time.Hour)
		r.expectEvents("n1 DeletingNode")
		if asked := []string{"n1 p://n1", "n1 p://n1"}; !slices.Equal(r.asked, asked) || len(r.endedAsked) != 2 {
			t.Errorf("asked about %v, and about the ends of %v, want both twice about n1", r.asked, r.endedAsked)
		}
	})
}

// The kubelet has reported after the end of the machine, but the informer does not show it
// yet. The final check reads the live Node.
func TestKubeletThatReportsAfterTheTerminationKeepsItsNode(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Node){
		"Ready":       reports,
		"SilentAgain": func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", died))...)
				defer func() { r.stop() }()
				r.terminates("n1")
				r.on("get", func(clienttesting.Action) (bool, runtime.Object, error) {
					node := old("n1", died, edit)
					node.CreationTimestamp = metav1.NewTime(time.Now().Add(-24 * time.Hour))
					return true, node, nil
				})
				r.after(30 * time.Second)
				r.expect("after the report", "n1", "w1", "w2", "w3")
			})
		})
	}
}

// Deletions with positive evidence do not use up the rate of others.
func TestTerminatedMachinesLeaveTheRateToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", died))...)
		defer func() { r.stop() }()
		r.terminates("n1")
		r.after(5 * time.Second)
		r.expect("after the termination", "w1", "w2", "w3")
		if got := r.tested.ledger.deleted; len(got) != 0 {
			t.Errorf("deletions %v count for the rate, want none", got)
		}
	})
}

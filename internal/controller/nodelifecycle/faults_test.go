package nodelifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// fleet returns Nodes. denied says which of them the cloud calls absent: those whose
// names begin with "bad".
func fleet(badSilent, badReporting, good int, edits ...func(*corev1.Node)) (nodes []*corev1.Node, denied map[string]bool) {
	denied = map[string]bool{}
	add := func(n int, name string, more ...func(*corev1.Node)) {
		for i := range n {
			node := old(fmt.Sprintf("%s-%d", name, i), append(more, edits...)...)
			node.UID = types.UID(fmt.Sprintf("%x-%s", (len(nodes)+7)*2654435761, node.Name)) // UIDs in no particular order
			nodes = append(nodes, node)
			denied[node.Name] = strings.HasPrefix(name, "bad")
		}
	}
	add(badSilent, "bad-silent")
	add(badReporting, "bad-reporting", reports)
	add(good, "good", reports)
	return nodes, denied
}

// The list of a cloud lacks some instances. So the cloud calls Nodes absent although
// their kubelets report. The controller must not delete any Node because of this,
// however long it lasts.
func TestTruncatedListDeletesNothing(t *testing.T) {
	for _, tt := range []struct {
		name                          string
		badSilent, badReporting, good int
		edit                          func(*corev1.Node)
	}{
		{"SmallCluster", 1, 2, 3, nil},
		{"NearlyHalf", 2, 8, 10, nil},
		{"LargeCluster", 4, 46, 50, nil},
		{"WithoutProviderIDs", 2, 9, 9, providerID("")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				edits := []func(*corev1.Node){func(*corev1.Node) {}}
				if tt.edit != nil {
					edits[0] = tt.edit
				}
				nodes, denied := fleet(tt.badSilent, tt.badReporting, tt.good, edits...)
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				r.change(func() { r.absent = denied })
				r.after(12 * time.Hour)
				if got := len(r.names()); got != len(nodes) {
					t.Errorf("%d healthy Nodes deleted in half a day", len(nodes)-got)
				}
			})
		})
	}
}

// byNotFoundError returns limits with which the error "not found" counts as an absence.
func byNotFoundError() Limits {
	l := DefaultLimits()
	l.NotFoundIsAbsent = true
	return l
}

// Here the provider returns the error "not found" for an instance that is gone. Without
// the flag, the Node stays, and its condition names the flag. With the flag, a Node
// with a provider ID is deleted as early as if the cloud had answered "absent".
func TestNotFoundErrorOfAnInstanceThatIsGone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		node   *corev1.Node
		after  time.Duration
		stays  bool
	}{
		{"Held", DefaultLimits(), old("n1"), 12 * time.Hour, true},
		{"GoesByFlag", byNotFoundError(), old("n1"), 32 * time.Second, false},
		{"TooEarlyByFlag", byNotFoundError(), old("n1"), 29 * time.Second, true},
		{"HeldWithoutProviderID", byNotFoundError(), old("n1", providerID(""), taint(api.TaintExternalCloudProvider)), 12 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, tt.limits, aliveAnd(tt.node)...)
				defer func() { r.stop() }()
				r.change(func() { r.notFound = map[string]bool{"n1": true} })
				r.after(tt.after)
				want := []string{"w1", "w2", "w3"}
				if tt.stays {
					want = append(want, "n1")
				}
				r.expect("afterwards", want...)
				if tt.after < time.Hour {
					return
				}
				node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if c := nodefact.Condition(node, ConditionMissing); c == nil || c.Status != corev1.ConditionUnknown || !strings.Contains(c.Message, "--node-deletion-not-found-error=absent") {
					t.Errorf("condition %v, want it to name the flag", c)
				}
			})
		})
	}
}

// With a wrong endpoint or project, a cloud finds no instances, or only half of them.
// However long this lasts, no Node is deleted. It does not matter whether kubelets
// report.
func TestCloudThatFindsNothingDeletesNothing(t *testing.T) {
	for _, tt := range []struct {
		name                          string
		badSilent, badReporting, good int
	}{
		{"NothingIsFound", 2, 18, 0},
		{"AllAreSilent", 20, 0, 0},
		{"OneNodeIsLeft", 1, 0, 0},
		{"HalfIsFound", 2, 8, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, denied := fleet(tt.badSilent, tt.badReporting, tt.good)
				r := beginRemovals(t, byNotFoundError(), nodes...)
				defer func() { r.stop() }()
				r.change(func() { r.notFound = denied })
				r.after(12 * time.Hour)
				if got := len(r.names()); got != len(nodes) {
					t.Errorf("%d healthy Nodes deleted in half a day", len(nodes)-got)
				}
			})
		})
	}
}

// At first, the cloud calls every Node absent. It recovers during a final check,
// between the answer about the Node and the answer about the first witness.
func TestCloudThatRecoversDuringTheFinalCheckDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent = map[string]bool{"n1": true, "w1": true, "w2": true, "w3": true} })
		for isWitnessed := false; !isWitnessed; {
			r.after(10 * time.Millisecond)
			r.change(func() {
				isWitnessed = slices.ContainsFunc(r.asked, func(about string) bool { return strings.HasPrefix(about, "w") })
			})
		}
		r.change(func() { r.absent = map[string]bool{} })
		r.after(time.Hour)
		r.expect("an hour after the cloud has recovered", "n1", "w1", "w2", "w3")
	})
}

func TestWitnessThatAlwaysFailsDoesNotHoldForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"], r.fails["w3"] = true, errors.New("malformed provider ID") })
		r.after(10 * time.Minute)
		r.expect("after ten minutes", "w1", "w2", "w3")
	})
}

// The questions about half of the witnesses or more fail all the time, for example
// because their provider IDs are malformed. Those that are answered count after a while.
func TestWitnessesThatAlwaysFailDoNotOutvoteTheOthers(t *testing.T) {
	for _, tt := range []struct{ failing, answered int }{{3, 3}, {9, 9}, {9, 3}, {30, 5}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, denied := fleet(1, 0, tt.failing+tt.answered)
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				r.change(func() {
					r.absent = denied
					for _, n := range nodes[1 : 1+tt.failing] {
						r.fails[n.Name] = errors.New("malformed provider ID")
					}
				})
				r.after(9 * time.Minute)
				if got := r.count("bad"); got != 1 {
					t.Error("the Node is deleted before ten minutes have passed")
				}
				r.after(16 * time.Minute)
				if got := r.count("bad"); got != 0 {
					t.Error("the Node is left after 25 minutes")
				}
			})
		})
	}
}

func TestNodeRecreatedDuringALongFinalCheckIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"], r.takes = true, 29*time.Second })
		for len(r.tested.deletions.Busy()) == 0 {
			r.after(time.Second)
		}
		if err := r.cluster.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}); err != nil {
			t.Fatal(err)
		}
		again := old("n1")
		again.UID, again.ResourceVersion = "u-again", "8"
		if _, err := r.cluster.CoreV1().Nodes().Create(t.Context(), again, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.after(time.Hour)
		r.expect("after an hour", "w1", "w2", "w3")
	})
}

func TestNodeThatCannotBeReadSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		reads := 0
		r.on("get", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads++
			return true, nil, apierrors.NewForbidden(nodesResource, "n1", errors.New("no rule"))
		})
		r.after(time.Hour)
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed", "n1 NodeDeletionHeld ReadFailed")
		if reads > 100 {
			t.Errorf("%d reads in an hour", reads)
		}
	})
}

func TestDeletionsWithALostReplyCountForTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, denied := fleet(30, 0, 3)
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		r.change(func() { r.absent = denied })
		r.on("delete", func(action clienttesting.Action) (bool, runtime.Object, error) {
			name := action.(clienttesting.DeleteAction).GetName()
			if err := r.cluster.Tracker().Delete(action.GetResource(), "", name); err != nil {
				return true, nil, err
			}
			return true, nil, apierrors.NewTimeoutError("the reply is lost", 1)
		})
		r.after(10*time.Minute + 50*time.Second)
		if got := 33 - len(r.names()); got > 5 {
			t.Errorf("%d Nodes are gone within the first minute, want at most 5", got)
		}
	})
}

func TestHangingWitnessesDoNotBlockOtherNodesForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := []*corev1.Node{old("n1")}
		for i := range 20 {
			nodes = append(nodes, old(fmt.Sprintf("w%d", i), reports))
		}
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		r.change(func() {
			r.absent["n1"] = true
			for i := range 20 {
				r.fails[fmt.Sprintf("w%d", i)] = errors.New("slow")
			}
		})
		r.after(29 * time.Second)
		r.change(func() { r.takes = 30 * time.Second })
		for range 60 {
			r.after(10 * time.Second)
			for longest := time.Duration(0); r.tested.deletions.Stuck(longest) != nil; longest += 10 * time.Second {
				if longest > 4*time.Minute {
					t.Fatalf("a final check of more than %v", longest)
				}
			}
		}
	})
}

func TestRefusedConditionDoesNotRepeatTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", says(corev1.ConditionTrue, "NoWitness", time.Minute)))...)
		defer func() { r.stop() }()
		r.on("patch", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(nodesResource, "n1", errors.New("no rule"))
		})
		r.after(time.Hour)
		if got := len(r.events); got > 7 {
			t.Errorf("%d events in an hour", got)
		}
	})
}

// If the API server keeps refusing the shutdown taint, an event on the Node reports
// this once. The next event comes only if the taint is written in the meantime, and is
// then refused again. The event is also recorded if the write of the condition is
// refused.
func TestRefusedShutdownTaintIsReported(t *testing.T) {
	for name, refusal := range map[string]error{
		"WebhookRejects": apierrors.NewForbidden(nodesResource, "n2", errors.New("no rule")),
		"WebhookFails":   apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n2"))...)
				defer func() { r.stop() }()
				var onlyStatus bool
				r.change(func() { r.down["n2"] = true })
				r.on("patch", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return !onlyStatus || action.GetSubresource() == "status", nil, refusal
				})
				r.after(time.Hour)
				r.expectEvents("n2 ShutdownTaintFailed")
				r.change(func() { onlyStatus = true })
				r.update("n2", says(corev1.ConditionTrue, "NoWitness", time.Minute))
				r.after(30 * time.Minute) // long enough for a pass in which the Node is no longer held
				if node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n2", metav1.GetOptions{}); err != nil || len(node.Spec.Taints) != 1 {
					t.Errorf("Node %v, error %v, want the taint", node, err)
				}
				r.change(func() { onlyStatus, r.events = false, nil })
				r.update("n2", reports)
				r.after(time.Hour)
				r.expectEvents("n2 ShutdownTaintFailed")
			})
		})
	}
}

// Somebody runs kubelets with the credentials of two machines that are gone, so the
// Nodes of both machines report. Nothing is deleted, and a condition names both Nodes.
// An operator can exclude them with a label.
func TestKubeletsOfMachinesThatAreGoneHoldNothingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"), old("r1", reports), old("r2", reports))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"], r.absent["r1"], r.absent["r2"] = true, true, true })
		r.after(24 * time.Hour)
		r.expect("after a day", "n1", "r1", "r2", "w1", "w2", "w3")
		node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c := nodefact.Condition(node, ConditionMissing); c == nil || c.Reason != "DeniedNodesReport" || !strings.Contains(c.Message, "report: r1, r2.") {
			t.Errorf("condition %v, want it to name r1 and r2", c)
		}
		r.update("r1", reports, label(ownership.LabelExcludeRestricted, ""))
		r.update("r2", reports, label(ownership.LabelExcludeRestricted, ""))
		r.after(5 * time.Minute)
		r.expect("after both are set aside", "r1", "r2", "w1", "w2", "w3")
		r.update("r1", ready(corev1.ConditionUnknown, 0))
		r.after(time.Hour)
		r.expect("after one of them has fallen silent", "r1", "r2", "w1", "w2", "w3")
	})
}

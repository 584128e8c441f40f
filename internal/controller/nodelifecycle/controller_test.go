package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// removals has a fake cluster, a fake cloud, and a lifecycle controller that uses them.
// It runs in testing/synctest, which has its own clock.
type removals struct {
	t       *testing.T
	cluster *fake.Clientset
	tested  *Controller
	stop    func()

	mu      sync.Mutex
	busy    map[string]bool // names of Nodes about which a question is under way; guarded by mu
	absent  map[string]bool // names of the Nodes that the cloud calls absent; guarded by mu
	down    map[string]bool // guarded by mu
	failure error           // of every question; guarded by mu
	asked   []string        // guarded by mu
	events  []string        // guarded by mu
	// fails maps the name of a Node to the error of each question about it. notFound
	// has the names of the Nodes for which the error is "instance not found". Both are
	// guarded by mu.
	fails    map[string]error
	notFound map[string]bool
	// takes is the duration of a question; guarded by mu.
	takes time.Duration
	// late maps the name of a Node to the time of an earlier question, whose answer the
	// next question gets; guarded by mu.
	late map[string]time.Time
	// ended has what the cloud lists about terminated instances, by the name of the Node;
	// nil if the provider cannot tell. endedFails is the error of each question about that,
	// and endedAsked has the names that were asked about. All are guarded by mu.
	ended      map[string]cloud.Termination
	endedFails error
	endedAsked []string
	// described has the names of the Nodes that the cloud has described lately; guarded by mu.
	described map[string]bool
	// serves maps a verb to the function that answers requests with the verb. The fake
	// API server answers all other requests itself. serves is guarded by mu.
	serves map[string]clienttesting.ReactionFunc
}

// on makes f answer all requests for Nodes with the given verb. f runs while r.mu is
// locked. It adds no reactor to the fake client, because the list of reactors must not
// change while the client is in use.
func (r *removals) on(verb string, f clienttesting.ReactionFunc) {
	r.change(func() { r.serves[verb] = f })
}

func (r *removals) serve(action clienttesting.Action) (bool, runtime.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.serves[action.GetVerb()]; f != nil {
		return f(action)
	}
	return false, nil, nil
}

// Existence implements instances. The call lasts for r.takes.
func (r *removals) Existence(_ context.Context, node *corev1.Node) (cloud.Existence, error) {
	asked := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, node.Name+" "+node.Spec.ProviderID)
	if r.busy[node.Name] {
		r.t.Errorf("two questions about %s at once", node.Name)
	}
	r.busy[node.Name] = true
	takes := r.takes
	r.mu.Unlock()
	time.Sleep(takes)
	r.mu.Lock()
	delete(r.busy, node.Name)
	if at, ok := r.late[node.Name]; ok {
		asked = at
		delete(r.late, node.Name)
	}
	if r.notFound[node.Name] {
		return cloud.Existence{Asked: asked, NotFound: true}, &cloud.Error{Call: "InstanceExists", Kind: cloud.NotFound, Err: cloudprovider.InstanceNotFound}
	}
	return cloud.Existence{Present: !r.absent[node.Name], Asked: asked}, errors.Join(r.failure, r.fails[node.Name])
}

// Shutdown implements instances.
func (r *removals) Shutdown(_ context.Context, node *corev1.Node) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down[node.Name], r.failure
}

// Termination implements instances.
func (r *removals) Termination(_ context.Context, node *corev1.Node) (cloud.Termination, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		return cloud.Termination{}, &cloud.Error{Call: "InstanceTermination", Kind: cloud.NotImplemented}
	}
	r.endedAsked = append(r.endedAsked, node.Name)
	return r.ended[node.Name], r.endedFails
}

// Confirmed implements instances.
func (r *removals) Confirmed(node *corev1.Node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.described[node.Name]
}

// Node implements recorder.
func (r *removals) Node(node *corev1.Node, _, reason, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "NodeDeletionHeld" {
		reason += " " + strings.SplitN(message, ":", 2)[0]
	}
	r.events = append(r.events, node.Name+" "+reason)
}

func (r *removals) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// beginRemovals starts a controller for a cluster with these Nodes.
func beginRemovals(t *testing.T, limits Limits, nodes ...*corev1.Node) *removals {
	t.Helper()
	r := &removals{
		t: t, absent: map[string]bool{}, busy: map[string]bool{}, down: map[string]bool{}, fails: map[string]error{}, takes: 100 * time.Millisecond,
		serves: map[string]clienttesting.ReactionFunc{},
	}
	var objects []runtime.Object
	for _, n := range nodes {
		n.ResourceVersion = "7"
		n.CreationTimestamp = metav1.NewTime(time.Now().Add(-24 * time.Hour))
		objects = append(objects, n)
	}
	r.cluster = fake.NewSimpleClientset(objects...)
	r.cluster.PrependReactor("*", "nodes", r.serve)
	r.start(limits)
	return r
}

func (r *removals) start(limits Limits) {
	ctx, cancel := context.WithCancel(r.t.Context())
	informers := kube.NewInformerFactory(r.cluster, 0, nil)
	informer := informers.Core().V1().Nodes()
	r.tested = New(Deps{
		Nodes:     kube.NewNodes(ctx, r.cluster, informer),
		Informer:  informer,
		Instances: r,
		Events:    r,
	}, Config{Reads: 4, Limits: limits})
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() {
		time.Sleep(time.Nanosecond) // No pass begins before the test waits, so the test can change the cloud and the API server first.
		done <- r.tested.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
}

// after lets time pass.
func (*removals) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *removals) names() []string {
	list, err := r.cluster.CoreV1().Nodes().List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

func (r *removals) expect(what string, names ...string) {
	r.t.Helper()
	got := r.names()
	slices.Sort(names)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		r.t.Errorf("%s: the Nodes are %v, want %v; events %v", what, got, names, r.events)
	}
}

func (r *removals) expectEvents(want ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.events, want) {
		r.t.Errorf("events %v, want %v", r.events, want)
	}
}

func (r *removals) update(name string, edits ...func(*corev1.Node)) {
	r.t.Helper()
	node, err := r.cluster.CoreV1().Nodes().Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, edit := range edits {
		edit(node)
	}
	if _, err := r.cluster.CoreV1().Nodes().Update(r.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *removals) deletions() []metav1.Preconditions {
	var all []metav1.Preconditions
	for _, action := range r.cluster.Actions() {
		if d, ok := action.(clienttesting.DeleteActionImpl); ok {
			all = append(all, *d.DeleteOptions.Preconditions)
		}
	}
	return all
}

// aliveAnd returns the given silent Nodes, and three Nodes that report.
func aliveAnd(silent ...*corev1.Node) []*corev1.Node {
	return append(silent, old("w1", reports), old("w2", reports), old("w3", reports))
}

func TestNodeOfATerminatedInstanceGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(29 * time.Second)
		r.expect("before half a minute", "n1", "w1", "w2", "w3")
		r.after(2 * time.Second)
		r.expect("afterwards", "w1", "w2", "w3")
		r.after(time.Hour)
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed", "n1 DeletingNode")
		got := r.deletions()
		if len(got) != 1 || *got[0].UID != "u-n1" || *got[0].ResourceVersion != "7" {
			t.Errorf("deletions %v, want one with the UID and the version that was read", got)
		}
	})
}

func TestNodeWhoseInstanceIsFoundAgainStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(20 * time.Second)
		r.change(func() { r.absent["n1"] = false })
		r.after(time.Hour)
		r.expect("after an hour", "n1", "w1", "w2", "w3")
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed", "n1 NodeDeletionCanceled")
	})
}

func TestNodeThatReportsIsNotAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", reports))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(time.Hour)
		r.expect("after an hour", "n1", "w1", "w2", "w3")
		if r.asked != nil {
			t.Errorf("asked about %v", r.asked)
		}
	})
}

func TestFinalCheckSeesTheLiveNode(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*corev1.Node)
		want []string
	}{
		{"ReportsAgain", reports, []string{"n1", "w1", "w2", "w3"}},
		{"IsAnother", func(n *corev1.Node) { n.UID = "u-other" }, []string{"n1", "w1", "w2", "w3"}},
		{"IsExcluded", label(ownership.LabelExclude, ""), []string{"n1", "w1", "w2", "w3"}},
		{"IsAsItWas", label("a", "b"), []string{"w1", "w2", "w3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
				defer func() { r.stop() }()
				r.change(func() { r.absent["n1"] = true })
				r.on("get", func(clienttesting.Action) (bool, runtime.Object, error) {
					node := old("n1", tt.edit) // The informer does not have this version yet.
					node.CreationTimestamp = metav1.NewTime(time.Now().Add(-24 * time.Hour))
					return true, node, nil
				})
				r.after(45 * time.Second)
				r.expect("after the final check", tt.want...)
			})
		})
	}
}

// The final check can be the first to see that the kubelet has reported in the meantime.
// Then a late answer does not count there either.
func TestFinalCheckOfANewSilenceAsksANewQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.Absences, limits.AbsentFor, limits.Witnesses = 1, 0, 0 // Then one answer is enough.
		r := beginRemovals(t, limits, aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		began := time.Now()
		r.on("get", func(clienttesting.Action) (bool, runtime.Object, error) {
			node := old("n1", ready(corev1.ConditionUnknown, 0)) // The informer does not have this version yet.
			node.CreationTimestamp = metav1.NewTime(began.Add(-24 * time.Hour))
			r.late = map[string]time.Time{"n1": began}
			return true, node, nil
		})
		r.after(5 * time.Minute)
		r.expect("after answers to questions from before the last report", "n1", "w1", "w2", "w3")
	})
}

func TestDeletionThatConflictsIsDecidedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		settles := time.Now().Add(time.Minute)
		r.on("delete", func(clienttesting.Action) (bool, runtime.Object, error) {
			return time.Now().Before(settles), nil, conflict()
		})
		r.after(5 * time.Minute)
		r.expect("after the conflicts", "w1", "w2", "w3")
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed", "n1 NodeDeletionHeld NodeKeepsChanging", "n1 NodeDeletionResumed", "n1 DeletingNode")
		if got := len(r.deletions()); got > 20 {
			t.Errorf("%d attempts", got)
		}
	})
}

// The deletion is refused because the Node has changed: its kubelet reports again. A second
// attempt would delete a healthy Node.
func TestKubeletThatReportsDuringTheDeletionKeepsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		refused := false
		r.on("delete", func(clienttesting.Action) (bool, runtime.Object, error) {
			if refused {
				return false, nil, nil
			}
			refused = true
			return true, nil, errors.Join(r.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), old("n1", reports), ""), conflict())
		})
		r.after(5 * time.Minute)
		if r.expect("after it has reported", "n1", "w1", "w2", "w3"); !refused {
			t.Error("no deletion was tried")
		}
	})
}

// An answer counts from the end of its question, however long that takes.
func TestAnswerInTheFinalCheckCountsFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.takes, r.absent["n1"], r.absent["w1"], r.absent["w2"] = 5*time.Second, true, true, true })
		r.after(90 * time.Second)
		r.tested.mu.Lock()
		defer r.tested.mu.Unlock()
		m := r.tested.memories["n1"]
		if e := m.evidence; m.holding.reason != cloudContradictsKubelet.Name || e.answered.Sub(e.asked) < r.takes {
			t.Errorf("held because of %q, asked at %v and answered at %v", m.holding.reason, e.asked, e.answered)
		}
	})
}

func TestDeletionThatIsRefusedIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		refused := true
		r.on("delete", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refused, nil, apierrors.NewForbidden(nodesResource, "n1", errors.New("no rule"))
		})
		r.after(5 * time.Minute)
		r.expect("while it is refused", "n1", "w1", "w2", "w3")
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed", "n1 DeletingNodeFailed")
		if deletes := len(r.deletions()); deletes < 2 || deletes > 10 {
			t.Errorf("%d attempts in five minutes, want a few", deletes)
		}
		node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if c := nodefact.Condition(node, ConditionMissing); err != nil || c == nil || c.Reason != "DeleteFailed" {
			t.Errorf("condition %v, error %v, want DeleteFailed", c, err)
		}
		r.change(func() { refused = false })
		r.after(5 * time.Minute)
		r.expect("afterwards", "w1", "w2", "w3")
	})
}

func TestNoNodeIsDeletedIfTheCloudCallsAllAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes []*corev1.Node
		for name := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s t") {
			node := old(name, reports)
			if name < "c" {
				node = old(name)
			}
			nodes = append(nodes, node)
		}
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		r.change(func() {
			for _, n := range nodes {
				r.absent[n.Name] = true
			}
		})
		r.after(2 * time.Hour)
		if got := len(r.names()); got != len(nodes) {
			t.Errorf("%d of %d Nodes are left", got, len(nodes))
		}
		if len(r.asked) > 2*60*20 {
			t.Errorf("%d questions in two hours", len(r.asked))
		}
	})
}

func TestQuestionsAboutASilentNodeBecomeRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.after(time.Hour)
		if got := len(r.asked); got < 30 || got > 40 {
			t.Errorf("%d questions in an hour, want about one in two minutes", got)
		}
	})
}

func TestShutdownIsShownAndNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.down["n1"] = true })
		r.after(time.Hour)
		has := func() bool {
			node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintNodeShutdown })
		}
		if !has() {
			t.Error("no taint after an hour")
		}
		r.change(func() { r.down["n1"] = false })
		r.after(3 * time.Minute)
		if has() {
			t.Error("the taint is still there although the instance runs")
		}
		if requests := withoutWatches(r.cluster.Actions()); len(requests) != 2+2 { // this test itself makes two of them
			t.Errorf("requests %v, want one write for each change", requests)
		}
	})
}

func withoutWatches(actions []clienttesting.Action) []string {
	var verbs []string
	for _, a := range actions {
		if verb := a.GetVerb(); verb != "watch" && verb != "list" {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

func TestNodesOverTheBudgetWaitAndAreDeletedAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes []*corev1.Node
		for n := range 30 {
			nodes = append(nodes, old(fmt.Sprintf("gone-%02d", n)))
		}
		r := beginRemovals(t, DefaultLimits(), aliveAnd(nodes...)...)
		defer func() { r.stop() }()
		r.change(func() {
			for _, n := range nodes {
				r.absent[n.Name] = true
			}
		})
		r.after(10*time.Minute - time.Second)
		if got := len(r.names()); got != 33 {
			t.Errorf("%d Nodes are left just before ten minutes have passed, want all 33", got)
		}
		for minute := 1; minute <= 5; minute++ {
			r.after(time.Minute)
			if got, least := len(r.names()), 33-5*minute; got < least {
				t.Errorf("%d Nodes are left after %d minutes more, want at least %d", got, minute, least)
			}
		}
		r.after(5 * time.Minute)
		r.expect("in the end", "w1", "w2", "w3")
	})
}

// With AnnouncedByConditions, drained Nodes do not wait for OverBudgetAfter, however
// many they are. They are deleted at the limited rate. A Node that is not drained does
// not wait for the drained ones.
func TestDrainedNodesAreDeletedAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := []*corev1.Node{old("n1")}
		for n := range 30 {
			nodes = append(nodes, old(fmt.Sprintf("gone-%02d", n), condition("Drained", corev1.ConditionTrue)))
		}
		limits := DefaultLimits()
		limits.AnnouncedByConditions = true
		r := beginRemovals(t, limits, aliveAnd(nodes...)...)
		defer func() { r.stop() }()
		r.change(func() {
			for _, n := range nodes {
				r.absent[n.Name] = true
			}
		})
		r.after(35 * time.Second)
		if slices.Contains(r.names(), "n1") {
			t.Error("the Node that is not drained is still there")
		}
		for minute := 1; minute <= 5; minute++ {
			if got, least := len(r.names()), 33-5*minute; got < least {
				t.Errorf("%d Nodes are left after %d minutes, want at least %d", got, minute, least)
			}
			r.after(time.Minute)
		}
		r.after(5 * time.Minute)
		r.expect("in the end", "w1", "w2", "w3")
	})
}

// In a cluster of cloud instances, a Node whose machine is not in the cloud is never
// deleted. It does not matter what the cloud answers to a question about the Node's
// name.
func TestMachineOfOnesOwnStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", providerID("")))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(12 * time.Hour)
		r.expect("after half a day", "n1", "w1", "w2", "w3")
		r.expectEvents("n1 NodeDeletionHeld NotOfThisCloud")
		node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if c := nodefact.Condition(node, ConditionMissing); err != nil || c == nil || c.Reason != "NotOfThisCloud" {
			t.Errorf("condition %v, error %v, want NotOfThisCloud", c, err)
		}
	})
}

func TestWitnessOfANodeWithoutProviderIDIsAskedAboutByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1", providerID(""), taint(api.TaintExternalCloudProvider)))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(3 * time.Minute)
		r.expect("after three minutes", "w1", "w2", "w3")
		if len(r.tested.ledger.confirmed) > 0 {
			t.Errorf("schemes %v are confirmed, want none by a name", r.tested.ledger.confirmed)
		}
		for _, asked := range r.asked {
			if !strings.HasSuffix(asked, " ") {
				t.Errorf("asked about %q, want all questions to go by name", asked)
			}
		}
	})
}

func TestQuestionsAboutOneNodeNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		for n := range 600 { // the Node changes all the time, also during the final check
			r.after(50 * time.Millisecond)
			if slices.Contains(r.names(), "n1") {
				key := []string{"other", "ToBeDeletedByClusterAutoscaler"}[n%2]
				r.update("n1", func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: key}} })
			}
		}
		r.after(time.Minute)
		r.expect("in the end", "w1", "w2", "w3")
	})
}

func TestNothingIsRememberedOfNodesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(time.Minute)
		for _, name := range r.names() {
			if err := r.cluster.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}); err != nil {
				t.Fatal(err)
			}
		}
		r.after(time.Minute)
		if l := r.tested; len(l.memories)+len(l.enqueued)+len(l.ledger.answers) > 0 || l.snapshot != nil {
			t.Errorf("remembered: %v, %v, %v, %v", l.memories, l.enqueued, l.ledger.answers, l.snapshot)
		}
	})
}

func TestNewLeaderCountsFromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(29 * time.Second)
		r.stop()
		r.start(DefaultLimits())
		r.after(29 * time.Second)
		r.expect("29 s after the change of leaders", "n1", "w1", "w2", "w3")
		r.after(3 * time.Second)
		r.expect("3 s later", "w1", "w2", "w3")
	})
}

func TestNodeThatIsDeletedByHandIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(20 * time.Second)
		if err := r.cluster.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}); err != nil {
			t.Fatal(err)
		}
		r.after(time.Hour)
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed")
		if got := len(r.asked); got > 3 {
			t.Errorf("%d questions about a Node that is gone", got)
		}
	})
}

// A question that hangs is answered after the kubelet has come back and has fallen
// silent again. Its answer "absent" is about the time before.
func TestAnswerFromBeforeTheLastReportDoesNotCount(t *testing.T) {
	for name, tt := range map[string]struct {
		late bool
		gone time.Duration // the time between the new silence and the deletion
	}{
		"AnswerToANewQuestion":      {false, 31 * time.Second},
		"AnswerToAnEarlierQuestion": {true, 36 * time.Second}, // The next question comes after 5 s.
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
				defer func() { r.stop() }()
				asked := time.Now()
				r.change(func() {
					r.fails["n1"] = &cloud.Error{Call: "InstanceExists", Kind: cloud.Slow, Err: errors.New("no answer yet")}
				})
				r.after(time.Second)
				r.update("n1", reports)
				r.after(time.Minute)
				r.change(func() {
					r.fails, r.absent["n1"] = nil, true
					if tt.late {
						r.late = map[string]time.Time{"n1": asked}
					}
				})
				r.update("n1", ready(corev1.ConditionUnknown, time.Minute))
				r.after(tt.gone - 2*time.Second)
				r.expect("before three answers to questions of this silence", "n1", "w1", "w2", "w3")
				r.after(4 * time.Second)
				r.expect("after three answers to questions of this silence", "w1", "w2", "w3")
			})
		})
	}
}

func TestKubeletThatComesBackResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		r.after(20 * time.Second)
		r.update("n1", reports)
		r.after(time.Second)
		r.update("n1", ready(corev1.ConditionUnknown, time.Minute))
		r.after(28 * time.Second)
		r.expect("less than half a minute after it fell silent again", "n1", "w1", "w2", "w3")
	})
}

package service

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
}

func labelled(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: value} }
}

func leaving(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }

func TestBackends(t *testing.T) {
	ours := BackendPolicy{SkipUninitialized: true}
	for _, tt := range []struct {
		name   string
		policy BackendPolicy
		edit   func(*corev1.Node)
		is     bool
		wakes  bool // the change from an ordinary Node to this one
	}{
		{name: "OrdinaryNodeIsABackend", edit: func(*corev1.Node) {}, is: true},
		{name: "NodeThatIsNotReadyStays", edit: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}, is: true},
		{name: "CordonedNodeStays", edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }, is: true},
		{name: "ShutDownNodeStays", edit: tainted(api.TaintNodeShutdown), is: true},
		{name: "LabelledNodeIsExcluded", edit: labelled(""), wakes: true},
		{name: "LabelWithAnyValueExcludes", edit: labelled("yes"), wakes: true},
		{name: "LabelThatSaysFalseDoesNotExclude", edit: labelled("false"), is: true},
		{name: "NodeThatTheAutoscalerRemovesIsExcluded", edit: tainted(nodefact.TaintToBeDeleted)},
		{name: "TaintOfTheAutoscalerWakesIfAskedFor", policy: BackendPolicy{WakeOnTaint: true}, edit: tainted(nodefact.TaintToBeDeleted), wakes: true},
		{name: "NodeThatIsBeingDeletedIsExcluded", edit: leaving},
		{name: "DeletionWakesIfAskedFor", policy: BackendPolicy{WakeOnDeletion: true}, edit: leaving, wakes: true},
		{name: "UninitializedNodeWaits", policy: ours, edit: tainted(api.TaintExternalCloudProvider), wakes: true},
		{name: "UninitializedNodeIsABackendIfAnotherDaemonInitialisesNodes", edit: tainted(api.TaintExternalCloudProvider), is: true},
		{name: "AnotherProviderIDWakes", edit: func(n *corev1.Node) { n.Spec.ProviderID = "p://2" }, is: true, wakes: true},
		{name: "AnotherNodeOfTheNameWakes", edit: func(n *corev1.Node) { n.UID = "other" }, is: true, wakes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.isBackend(host("a", tt.edit)); got != tt.is {
				t.Errorf("is a backend: %v, want %v", got, tt.is)
			}
			if got := tt.policy.invalidates(host("a"), host("a", tt.edit)); got != tt.wakes {
				t.Errorf("wakes: %v, want %v", got, tt.wakes)
			}
			if got := tt.policy.invalidates(host("a", tt.edit), host("a")); got != tt.wakes {
				t.Errorf("the opposite change wakes: %v, want %v", got, tt.wakes)
			}
		})
	}
}

func TestSetIsNamedByItsInstances(t *testing.T) {
	of := func(nodes ...*corev1.Node) string { return BackendPolicy{}.setOf(nodes).id }
	first := of(host("a"), host("b"))
	if of(host("b"), host("a", tainted("x"))) != first {
		t.Error("the order of the nodes and their taints make another set")
	}
	if of(host("a")) == first || of(host("a"), host("b", func(n *corev1.Node) { n.Spec.ProviderID = "p://c" })) == first {
		t.Error("other instances make the same set")
	}
	node := host("a")
	s := BackendPolicy{}.setOf([]*corev1.Node{node})
	if first, second := s.copies(), s.copies(); first[0] == node || first[0] == second[0] || first[0].Name != "a" {
		t.Error("a call gets the informer's own node, or that of another call")
	}
}

func TestSetHasTheNamesOfBackendsInOrder(t *testing.T) {
	s := BackendPolicy{}.setOf([]*corev1.Node{host("b"), host("c", leaving), host("a")})
	if got := s.names(); !slices.Equal(got, list("a", "b")) {
		t.Errorf("names %v, want a and b", got)
	}
}

// Whose Nodes are behind load balancers.
func TestBackendsOfOthers(t *testing.T) {
	id := func(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }
	all := []*corev1.Node{host("a", id("p://1")), host("b", id("q://2")), host("c", id("")), host("d", id("p://4"), func(n *corev1.Node) { n.Labels = map[string]string{ownership.LabelProvider: "none"} })}
	claim := ownership.Claim{Schemes: []string{"p"}}
	for _, tt := range []struct {
		name   string
		policy BackendPolicy
		hosts  []string
		warned []string
	}{
		{name: "WithoutAFlagAllOfThem", hosts: []string{"a", "b", "c", "d"}, warned: []string{"p"}},
		{name: "WithAClaimAllOfThem", policy: BackendPolicy{Claim: claim}, hosts: []string{"a", "b", "c", "d"}, warned: []string{"p", "q"}},
		{name: "OwnOnly", policy: BackendPolicy{Claim: claim, OwnOnly: true}, hosts: []string{"a", "c"}},
		{name: "OwnOnlyWithoutAClaim", policy: BackendPolicy{OwnOnly: true}, hosts: []string{"a", "b", "c"}, warned: []string{"p", "q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := tt.policy.setOf(all)
			if got := set.names(); !slices.Equal(got, tt.hosts) {
				t.Errorf("backends %v, want %v", got, tt.hosts)
			}
			if got := tt.policy.foreignSchemes(set); !slices.Equal(got, tt.warned) {
				t.Errorf("warned about %v, want %v", got, tt.warned)
			}
		})
	}
	several := BackendPolicy{}.setOf(all[:3])
	if got := (BackendPolicy{}).foreignSchemes(several); !slices.Equal(got, []string{"p", "q"}) {
		t.Errorf("without a claim: warned about %v, want both schemes", got)
	}
}

func TestMoves(t *testing.T) {
	moved := func(times int) (m member) {
		for range times {
			m.moves = m.moves.Used(moveLimit, noon)
		}
		m.is = true
		return m
	}
	for _, tt := range []struct {
		name  string
		was   member
		edit  func(*corev1.Node)
		is    bool
		later time.Duration
	}{
		{name: "NodeThatHasNotMovedLeaves", was: moved(0), edit: labelled("")},
		{name: "NodeThatHasMovedSomeTimesLeaves", was: moved(5), edit: labelled("")},
		{name: "NodeThatHasMovedOftenWaits", was: moved(6), edit: labelled(""), is: true, later: 2 * time.Minute},
		{name: "NodeThatHasMovedOftenStays", was: moved(6), edit: func(*corev1.Node) {}, is: true},
		{name: "NodeThatIsBeingDeletedLeavesAtOnce", was: moved(6), edit: leaving},
		{name: "NodeThatTheAutoscalerRemovesLeavesAtOnce", was: moved(6), edit: tainted(nodefact.TaintToBeDeleted)},
		{name: "NodeThatIsExcludedWhileItIsBeingDeletedLeavesAtOnce", was: moved(6), edit: func(n *corev1.Node) { labelled("")(n); leaving(n) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, later := tt.was.next(BackendPolicy{}, host("a", tt.edit), noon)
			if got.is != tt.is || later != tt.later {
				t.Errorf("in the set: %v, may move after %v, want %v after %v", got.is, later, tt.is, tt.later)
			}
		})
	}
}

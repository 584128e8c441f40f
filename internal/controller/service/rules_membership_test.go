package service

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// membershipOf returns a membership of these Nodes.
func membershipOf(policy BackendPolicy, nodes ...*corev1.Node) *membership {
	r := &membership{policy: policy}
	r.remake(nodes, noon)
	return r
}

func TestSetIsNamedByItsInstances(t *testing.T) {
	of := func(nodes ...*corev1.Node) string { return membershipOf(BackendPolicy{}, nodes...).set.id }
	first := of(host("a"), host("b"))
	if of(host("b"), host("a", tainted("x"))) != first {
		t.Error("the order of the nodes and their taints make another set")
	}
	if of(host("a")) == first || of(host("a"), host("b", func(n *corev1.Node) { n.Spec.ProviderID = "p://c" })) == first || of(host("a"), host("b", func(n *corev1.Node) { n.UID = "recreated" })) == first {
		t.Error("other instances make the same set")
	}
}

func TestSetHasTheNamesOfBackendsInOrder(t *testing.T) {
	s := membershipOf(BackendPolicy{}, host("b"), host("c", leaving), host("a")).set
	if got := s.names(); !slices.Equal(got, list("a", "b")) {
		t.Errorf("names %v, want a and b", got)
	}
}

// TestBackendsOfOthers checks whether Nodes of other owners are behind load
// balancers.
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
			r := membershipOf(tt.policy, all...)
			if got := r.set.names(); !slices.Equal(got, tt.hosts) {
				t.Errorf("backends %v, want %v", got, tt.hosts)
			}
			if got := r.foreignSchemes(); !slices.Equal(got, tt.warned) {
				t.Errorf("warned about %v, want %v", got, tt.warned)
			}
		})
	}
	if got := membershipOf(BackendPolicy{}, all[:3]...).foreignSchemes(); !slices.Equal(got, []string{"p", "q"}) {
		t.Errorf("without a claim: warned about %v, want both schemes", got)
	}
}

func TestMoves(t *testing.T) {
	moved := func(times int) (m member) {
		for range times {
			m.moves = m.moves.Used(moveLimit, noon)
		}
		m.uid, m.is = "a", true
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

// A Node that gets another machine makes another set, at most as often as moveLimit
// allows.
func TestReplacedMachines(t *testing.T) {
	a, out := host("a"), host("b", labelled(""))
	r := membershipOf(BackendPolicy{}, a, out)
	seen := map[string]bool{r.set.id: true}
	replace := func(name string, at time.Duration) {
		m := r.members[name]
		m.renewed = true
		r.members[name] = m
		r.remake([]*corev1.Node{a, out}, noon.Add(at))
		seen[r.set.id] = true
	}
	for n := range 6 {
		replace("a", time.Duration(n)*time.Second)
	}
	if len(seen) != 7 {
		t.Errorf("%d sets, want another one for each machine", len(seen))
	}
	replace("b", 6*time.Second)
	replace("a", 6*time.Second)
	if len(seen) != 7 || !r.next.Equal(noon.Add(2*time.Minute)) || len(r.set.nodes) != 1 {
		t.Errorf("%d sets of %d nodes, the next move at %v, want the seventh machine to wait", len(seen), len(r.set.nodes), r.next)
	}
	r.remake([]*corev1.Node{a, out}, noon.Add(2*time.Minute))
	if seen[r.set.id] || !r.next.IsZero() || r.members["a"].renewed {
		t.Errorf("no other set after the wait, the next move at %v, members %+v", r.next, r.members)
	}
	if r.remake([]*corev1.Node{out}, noon.Add(time.Hour)); len(r.members) != 1 {
		t.Error("a Node that is gone is remembered")
	}
}

// A Node that has moved too often leaves the set as soon as moveLimit allows another
// move.
func TestHeldMoves(t *testing.T) {
	a := host("a")
	r := membershipOf(BackendPolicy{}, a)
	change := func(at time.Duration, edit func(*corev1.Node)) {
		edit(a)
		r.remake([]*corev1.Node{a}, noon.Add(at))
	}
	in, out := func(n *corev1.Node) { n.Labels = nil }, labelled("")
	for n := range 3 {
		change(time.Duration(2*n)*time.Second, out)
		change(time.Duration(2*n+1)*time.Second, in)
	}
	if !r.next.IsZero() {
		t.Errorf("a move is held until %v, although all were made", r.next)
	}
	change(6*time.Second, out)
	if got, want := r.next, noon.Add(2*time.Minute); len(r.set.nodes) != 1 || !got.Equal(want) {
		t.Errorf("%d backends, the next move at %v, want one until %v", len(r.set.nodes), got, want)
	}
	change(2*time.Minute, out)
	if len(r.set.nodes) != 0 || !r.next.IsZero() {
		t.Errorf("%d backends, the next move at %v, want none", len(r.set.nodes), r.next)
	}
	change(2*time.Minute+time.Second, in)
	change(2*time.Minute+time.Second, func(n *corev1.Node) { n.UID = types.UID("another") })
	if len(r.set.nodes) != 1 || !r.next.IsZero() {
		t.Errorf("%d backends, the next move at %v, want the new Node of the name at once", len(r.set.nodes), r.next)
	}
}

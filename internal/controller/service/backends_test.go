package service

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

func TestNodesThatJoinTogetherAreOneUpdateForEachLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		for n := range 20 {
			node := host(fmt.Sprint("n", n), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider}} })
			if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.after(100 * time.Millisecond)
			node.Spec.Taints, node.ResourceVersion = nil, strconv.Itoa(n)
			if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.after(time.Minute)
		slices.Sort(l.calls)
		slices.Sort(l.events)
		// The first node causes a new set at once. All other nodes together cause one
		// more set.
		l.expect("twenty nodes", list("update s1", "update s1", "update s2", "update s2"),
			list("s1 UpdatedLoadBalancer", "s1 UpdatedLoadBalancer", "s2 UpdatedLoadBalancer", "s2 UpdatedLoadBalancer"))
		if got := len(l.balancers["u-s1"]); got != 21 {
			t.Errorf("%d backends, want 21", got)
		}
	})
}

func TestNodeThatShowsItsEndLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{LeaveOn: []corev1.NodeConditionType{"Terminating"}}}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		node := host("b", ending(corev1.ConditionTrue))
		node.ResourceVersion = "2"
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Second)
		l.expect("the end", list("update s"), list("s UpdatedLoadBalancer"))
		if got := l.balancers["u1"]; !slices.Equal(got, list("a")) {
			t.Errorf("backends %v, want the other one", got)
		}
	})
}

func TestNewestNodeSetWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"), host("b"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 20 * time.Second })
		l.create(balanced())
		l.after(10 * time.Second)
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(2 * time.Minute)
		if got := l.balancers["u1"]; !slices.Equal(got, list("a")) {
			t.Errorf("backends %v, want the last set", got)
		}
	})
}

func TestFirstEnsureGetsTheNodesAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, balanced(named("old")), host("a", tainted(api.TaintExternalCloudProvider)))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.create(host("b"))
		l.after(2 * time.Second)
		l.change(func() { l.calls = nil })
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), host("a", func(n *corev1.Node) { n.ResourceVersion = "1" }), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(100 * time.Millisecond)
		l.create(balanced())
		l.after(500 * time.Millisecond)
		if len(l.given) != 2 {
			t.Errorf("nodes %v of the first call, want the one that was just initialised, too", l.given)
		}
		l.after(time.Minute)
		if got := l.balancers["u-old"]; !slices.Equal(got, list("a", "b")) {
			t.Errorf("backends %v of an earlier Service, want it to be updated too", got)
		}
		if want := list("ensure s", "update old"); !slices.Equal(l.calls, want) {
			t.Errorf("calls %v, want %v", l.calls, want)
		}
	})
}

func TestProviderGetsNodesAsTheyAreAtTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		before := l.given
		labelled := host("b", func(n *corev1.Node) { n.ResourceVersion, n.Labels = "1", map[string]string{"rack": "2"} })
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), labelled, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		l.expect("another label of a node", nil, nil)
		l.update(edited)
		l.after(time.Minute)
		if len(l.given) != 2 || l.given[1].Labels["rack"] != "2" {
			t.Errorf("nodes %+v, want them as they are when the call is made", l.given)
		}
		if len(before[1].Labels) != 0 {
			t.Error("a node that an earlier call has was changed")
		}
	})
}

// Each of these Nodes was behind the load balancers, and may be missing there now, or be
// there with an address that it no longer has. Nothing else changes.
func TestNodeThatComesBackIsGivenOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(l *life, edit func(...func(*corev1.Node)))
		updates int
	}{
		"ReplacedUnderItsName": {func(_ *life, edit func(...func(*corev1.Node))) { edit(silent); edit(reports) }, 1},
		"GetsAnotherAddress":   {func(_ *life, edit func(...func(*corev1.Node))) { edit(withIPs("10.0.0.2")) }, 1},
		"LosesItsAddressForAWhile": {func(l *life, edit func(...func(*corev1.Node))) {
			edit(withIPs("10.0.0.2"))
			l.after(time.Minute)
			edit(withIPs())
			l.after(time.Minute)
			edit(withIPs("10.0.0.2"))
		}, 3},
		"MovesAddressesAllTheTime": {func(l *life, edit func(...func(*corev1.Node))) {
			for n := range 60 {
				edit(withIPs(fmt.Sprint("10.0.1.", n)))
				l.after(5 * time.Second)
			}
		}, 9},
		"Recreated": {func(l *life, _ func(...func(*corev1.Node))) {
			if err := l.cluster.CoreV1().Nodes().Delete(l.t.Context(), "b", metav1.DeleteOptions{}); err != nil {
				l.t.Fatal(err)
			}
			l.create(host("b", func(n *corev1.Node) { n.UID = "recreated" }))
		}, 1},
		"GivenBackByTheAutoscaler": {func(l *life, edit func(...func(*corev1.Node))) {
			edit(tainted(nodefact.TaintToBeDeleted))
			l.create(host("c"))
			l.after(time.Minute)
			edit()
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"), host("b"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.create(host("z")) // A set was just made, so the next one waits.
				l.after(2 * time.Second)
				l.change(func() { l.calls, l.balancers["u1"] = nil, nil })
				version := 0
				tt.happens(l, func(edits ...func(*corev1.Node)) {
					version++
					node := host("b", append(edits, func(n *corev1.Node) { n.ResourceVersion = strconv.Itoa(version) })...)
					if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					l.after(0)
				})
				l.after(time.Hour)
				if !slices.Contains(l.balancers["u1"], "b") || len(l.calls) != tt.updates {
					t.Errorf("backends %v, calls %v, want b with %d updates", l.balancers["u1"], l.calls, tt.updates)
				}
			})
		})
	}
}

func TestBackendsFollowTheNodesWhileTheFinalizerIsContested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(10 * time.Minute)
		for range 2 {
			l.update(withoutFinalizer)
			l.after(5 * time.Second)
		}
		l.create(host("b"))
		l.after(30 * time.Second)
		var got []string
		l.change(func() { got = slices.Clone(l.balancers["u1"]) })
		if !slices.Equal(got, list("a", "b")) {
			t.Errorf("backends %v half a minute after a Node has joined", got)
		}
		l.after(10 * time.Minute)
		if s := l.service(); !hasFinalizer(s) {
			t.Error("the finalizer is not put back")
		}
	})
}

package nodelifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// notices is the time after which kube-controller-manager shows that the kubelet of a
// dead machine is silent.
const notices = 45 * time.Second

// count returns the number of Nodes whose names begin with the prefix.
func (r *removals) count(prefix string) (n int) {
	for _, name := range r.names() {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// A machine ends shortly before the final check of another Node. Its kubelet counts as
// reporting for a while, so it contradicts the cloud. It must not hold the other
// deletion for longer than that.
func TestSecondDeathHoldsTheFirstUntilItIsNoticed(t *testing.T) {
	for _, dies := range []time.Duration{5 * time.Second, 20 * time.Second, 30 * time.Second} {
		t.Run(fmt.Sprint(dies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
				defer func() { r.stop() }()
				r.change(func() { r.absent["n1"] = true })
				r.after(dies)
				r.change(func() { r.absent["w2"] = true })
				r.after(notices - time.Second)
				r.expect("while w2 contradicts the cloud", "n1", "w1", "w2", "w3")
				r.after(time.Second)
				r.update("w2", ready(corev1.ConditionUnknown, time.Minute))
				r.after(2 * time.Second)
				r.expect("after w2 has fallen silent", "w1", "w2", "w3")
				r.after(time.Minute)
				r.expect("in the end", "w1", "w3")
			})
		})
	}
}

// A machine that has just ended looks like one that a wrong list lacks: the cloud has
// confirmed it before, and now denies it. In a small cluster, half of a list is enough for
// that. So such a Node must not be left out, however young the denial is.
func TestListThatLacksConfirmedNodesDeletesNothing(t *testing.T) {
	for _, lacks := range [][]string{{"w2"}, {"w1", "w2"}} {
		t.Run(strconv.Itoa(len(lacks)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beginRemovals(t, DefaultLimits(), aliveAnd(old("dead"), old("n1", reports))...)
				defer func() { r.stop() }()
				r.change(func() { r.absent["dead"] = true })
				r.after(time.Minute)
				r.expect("after the cloud has confirmed all others", "n1", "w1", "w2", "w3")
				r.change(func() {
					for _, name := range append(lacks, "n1") {
						r.absent[name] = true
					}
				})
				r.update("n1", ready(corev1.ConditionUnknown, time.Minute))
				r.after(10 * time.Minute)
				r.expect("while the list is wrong", "n1", "w1", "w2", "w3")
			})
		})
	}
}

// Machines end one after the other, and each kubelet counts as reporting for a while. No
// Node waits for more than one of them.
func TestDeathsThatFollowEachOtherDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, _ := fleet(0, 0, 300)
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		name := func(n int) string { return nodes[n*37%300].Name }
		const deaths, every, bound = 60, 20 * time.Second, 75 * time.Second
		for n := range deaths + 6 {
			if n < deaths {
				r.change(func() { r.absent[name(n)] = true })
			}
			r.after(notices % every)
			if silent := n - int(notices/every); silent >= 0 && silent < deaths {
				r.update(name(silent), ready(corev1.ConditionUnknown, time.Minute))
			}
			r.after(every - notices%every)
			if due := n + 2 - int((notices+bound)/every); 300-len(r.names()) < min(due, deaths) {
				t.Fatalf("%d Nodes are left after %d deaths, want at most %d", len(r.names()), n+1, 300-due)
			}
		}
	})
}

// While a contradiction lasts, each held Node has a pass every few seconds, but the
// cloud is asked only about one Node and the contradicting one, and the others follow.
func TestContradictionCostsFewQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, denied := fleet(30, 180, 180)
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		r.change(func() { r.absent = denied })
		r.after(9 * time.Minute)
		if got := r.count("bad-silent"); got != 30 {
			t.Errorf("%d of 30 Nodes are left while the cloud contradicts a kubelet", got)
		}
		if got := len(r.asked); got > 30*12 {
			t.Errorf("%d questions in nine minutes about 30 Nodes", got)
		}
	})
}

// A scheme loses Nodes all the time, within its budget. This must not use up the rate of
// another scheme that has lost more than its budget.
func TestEachSchemeHasItsOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := aliveAnd()
		for n := range 300 {
			nodes = append(nodes, old(fmt.Sprintf("p-%03d", n), reports))
		}
		q := func(n *corev1.Node) { n.Spec.ProviderID = "q://" + n.Name }
		for n := range 10 {
			node := old(fmt.Sprintf("q-live-%d", n), reports, q)
			if n < 4 {
				node = old(fmt.Sprintf("q-gone-%d", n), q)
			}
			nodes = append(nodes, node)
		}
		r := beginRemovals(t, DefaultLimits(), nodes...)
		defer func() { r.stop() }()
		r.change(func() {
			for n := range 4 {
				r.absent[fmt.Sprintf("q-gone-%d", n)] = true
			}
		})
		for n := range 90 {
			name := fmt.Sprintf("p-%03d", n)
			r.change(func() { r.absent[name] = true })
			r.update(name, ready(corev1.ConditionUnknown, time.Minute))
			r.after(10 * time.Second)
		}
		if got := r.count("q-gone"); got != 0 {
			t.Errorf("%d of 4 Nodes are left after 15 minutes", got)
		}
	})
}

// Many machines of a zone end together. If the rest of the zone confirms the cloud, the
// Nodes do not wait for ten minutes, but are deleted at the limited rate at once.
func TestManyRealDeathsDoNotWait(t *testing.T) {
	for _, tt := range []struct {
		gone, live int
		within     time.Duration
		leaving    int // number of Nodes that have ended before, as a taint announces
	}{
		{3, 7, time.Minute, 0},
		{4, 6, time.Minute, 0},
		{5, 30, time.Minute, 10},
		{9, 21, 2 * time.Minute, 0},
		{30, 70, 3 * time.Minute, 0},
		{120, 280, 4 * time.Minute, 0},
	} {
		t.Run(fmt.Sprintf("%d of %d", tt.gone, tt.gone+tt.live), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, denied := fleet(tt.gone, 0, tt.live)
				for n := range tt.leaving {
					node := old(fmt.Sprint("leaving-", n), taint("karpenter.sh/disrupted"))
					nodes, denied[node.Name] = append(nodes, node), true
				}
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				r.change(func() { r.absent = denied })
				rate := max(5, (tt.gone+tt.live)/10)
				r.after(29 * time.Second)
				for left, n := tt.gone, 0; n < int(tt.within/time.Minute); n++ {
					r.after(time.Minute)
					now := r.count("bad")
					if left-now > rate && now > 0 { // In the end, the rest is within the budget.
						t.Errorf("%d Nodes deleted in a minute, want at most %d", left-now, rate)
					}
					left = now
				}
				if got := r.count("bad"); got != 0 {
					t.Errorf("%d Nodes are left after %v", got, tt.within)
				}
			})
		})
	}
}

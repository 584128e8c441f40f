package route

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// history is a table that changes over time: Nodes come, change and go, jobs
// and patches end, some jobs fail, and the cloud lists random routes.
type history struct {
	t       *testing.T
	r       *rand.Rand
	o       observed // with the memory
	nodes   map[string]*corev1.Node
	table   *table
	jobs    map[netip.Prefix]job
	patches map[string]conditionPatch
	serial  int
	plans   int // the number of plans that were not of the whole table
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		t: t, r: rand.New(rand.NewPCG(7, seed)), o: given(0), // the test has to be repeatable
		nodes: map[string]*corev1.Node{}, jobs: map[netip.Prefix]job{}, patches: map[string]conditionPatch{},
	}
	h.o.limits.BudgetRoutes, h.o.limits.BudgetPercent, h.o.limits.RemoveDuplicates = 1, 0, true
	h.o.claim.Nodes = func(n *corev1.Node) bool { return n.Labels["others"] == "" }
	return h
}

// put changes a Node, and handles the change as if the informer had reported it.
func (h *history) put(now *corev1.Node) {
	before := h.nodes[now.Name]
	h.nodes[now.Name] = now
	w := wakeRoutes
	if before != nil {
		if isReplaced(before, now) {
			h.o.memory.nodeDeleted(before, h.o.now)
		}
		w = wakeOf(h.o.claim, before, now)
	}
	if w != noWake {
		h.o.memory.touched.nodes[now.Name] = true
	}
	if w == wakeRoutes {
		h.o.changed = h.o.now
	}
}

func (h *history) remove(name string) {
	h.o.memory.nodeDeleted(h.nodes[name], h.o.now)
	h.o.changed = h.o.now
	delete(h.nodes, name)
}

// anyNode returns the name of a Node.
func (h *history) anyNode() string { return fmt.Sprintf("node-%d", 1+h.r.IntN(7)) }

func (h *history) changeNode() {
	name := h.anyNode()
	node := h.nodes[name]
	if node == nil {
		h.serial++
		node = newNode(int(name[5] - '0'))
		node.UID, node.CreationTimestamp = types.UID(fmt.Sprint("uid-", h.serial)), metav1.NewTime(h.o.now)
		if h.r.IntN(2) == 0 {
			noCondition(node)
		}
		if h.r.IntN(3) == 0 {
			withCIDR(fmt.Sprintf("fd00:0:0:%d::/64", 1+h.r.IntN(3)))(node)
		}
		h.put(node)
		return
	}
	if h.r.IntN(4) == 0 {
		h.remove(name)
		return
	}
	node = node.DeepCopy()
	switch h.r.IntN(8) {
	case 0:
		withCIDR([]string{"10.244.1.128/25", "10.244.1.0/25", "10.244.0.0/22"}[h.r.IntN(3)])(node) // a part of another Node's CIDR, or around it
	case 1:
		node.Labels = map[string]string{"others": "yes"}
	case 2:
		node.Labels = nil
	default:
		nodeChanges[h.r.IntN(len(nodeChanges))](h.r, node)
	}
	if node.UID != h.nodes[name].UID { // Different Nodes have different UIDs.
		h.serial++
		node.UID = types.UID(fmt.Sprint("uid-", h.serial))
	}
	h.put(node)
}

func (h *history) changeTwo() {
	h.changeNode()
	h.changeNode()
}

// endJob ends a job that is under way.
func (h *history) endJob() {
	if len(h.jobs) == 0 {
		return
	}
	cidr := slices.SortedFunc(maps.Keys(h.jobs), netip.Prefix.Compare)[0]
	j := h.jobs[cidr].recheck(func(name string) *corev1.Node { return h.nodes[name] })
	delete(h.jobs, cidr)
	var r result
	if h.r.IntN(3) == 0 {
		r.failed = &failure{kind: "Failed", text: "no"}
	}
	if r.failed == nil || h.r.IntN(2) == 0 {
		r.removed = j.remove
	}
	h.o.memory.finish(j, r, h.o.now)
}

// endPatch ends a patch that is under way. The informer might report the patch.
func (h *history) endPatch() {
	if len(h.patches) == 0 {
		return
	}
	name := slices.Min(slices.Collect(maps.Keys(h.patches)))
	p := h.patches[name]
	delete(h.patches, name)
	h.o.memory.wrote(p, h.o.now)
	if node := h.nodes[name]; node != nil && node.UID == p.node.UID && h.r.IntN(5) > 0 {
		node = node.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{p.condition}
		h.put(node)
	}
}

func (h *history) list() {
	a := answer{began: h.o.now, ended: h.o.now, next: h.o.now.Add(time.Minute)}
	if h.r.IntN(6) == 0 {
		a.failed = &failure{kind: "Unavailable", text: "no answer"}
	}
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		for i, cidr := range cidrsOf(h.nodes[name]) {
			if h.r.IntN(3) > 0 {
				a.routes = append(a.routes, newRoute(fmt.Sprint(name, i), name, cidr.String()))
			}
		}
	}
	for _, r := range []route{unknown, gateway, broken, unclaimed, duplicate, moved, newRoute("n", "", "nonsense"), newRoute("s2", "gone", "10.244.98.0/24")} {
		if h.r.IntN(4) == 0 {
			a.routes = append(a.routes, r)
		}
	}
	h.o.memory.listed(a)
	h.table = nil
}

// plan makes a plan of the changes, compares it with a plan of the whole table, and
// carries it out.
func (h *history) plan(step string) {
	h.t.Helper()
	for range 10 {
		whole := h.o
		whole.nodes, whole.table = slices.Collect(maps.Values(h.nodes)), nil
		want := decide(whole)
		got := want
		if h.table != nil {
			part := h.o
			part.table, part.node = h.table, func(name string) *corev1.Node { return h.nodes[name] }
			got = decide(part)
			h.plans++
			if diff := cmp.Diff(state(want), state(got)); diff != "" {
				h.t.Fatalf("after %q the plan of the change is not that of the whole table (-whole +change):\n%s", step, diff)
			}
		}
		if got.do == listRoutes {
			h.list()
			continue
		}
		h.table = got.table
		h.o.memory.planned(got, h.o.now)
		for _, j := range got.jobs {
			h.jobs[j.cidr] = j
		}
		for _, p := range got.patches {
			h.patches[p.node.Name] = p
		}
		return
	}
	h.t.Fatal("the routes are listed without end")
}

// state returns the actions of a plan, and the state of the table after the plan.
func state(p plan) []string {
	lines := digest(plan{do: p.do, why: p.why, jobs: p.jobs, held: p.held})
	if p.do == listRoutes {
		return lines
	}
	slices.SortFunc(p.resolved, netip.Prefix.Compare)
	lines = append(lines, fmt.Sprint(p.overBudget, p.strays, p.resolved, p.counts, p.after))
	for _, name := range slices.Sorted(maps.Keys(p.table.views)) {
		v := p.table.views[name]
		if v.patch != nil {
			lines = append(lines, fmt.Sprint(name, v.patch.node.UID, v.patch.condition.Status, v.patch.condition.Reason))
		}
		for _, e := range v.events {
			lines = append(lines, fmt.Sprint(name, e.node.UID, e.cidr, e.kind))
		}
	}
	return lines
}

// TestPlanOfAChangeIsThatOfTheWholeTable makes random changes one after the other.
// After each change, the plan of the change must do the same as a plan of the whole
// table, and must lead to the same state.
func TestPlanOfAChangeIsThatOfTheWholeTable(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 60
	}
	plans := 0
	for seed := range seeds {
		h := newHistory(t, uint64(seed)) // seed is not negative
		steps := []struct {
			name string
			do   func()
		}{
			{"a change of a Node", h.changeNode},
			{"a change of a Node", h.changeNode},
			{"two changes", h.changeTwo},
			{"the end of a job", h.endJob},
			{"the end of a job", h.endJob},
			{"the end of a patch", h.endPatch},
			{"the end of a patch", h.endPatch},
			{"some seconds", func() { h.o.now = h.o.now.Add(time.Duration(h.r.IntN(20_000)) * time.Millisecond) }},
			{"nothing", func() {}},
		}
		h.plan("the start")
		for range 150 {
			if h.o.now = h.o.now.Add(time.Millisecond); h.r.IntN(40) == 0 {
				h.o.now = h.o.now.Add(6 * time.Minute)
			}
			step := steps[h.r.IntN(len(steps))]
			step.do()
			h.plan(fmt.Sprintf("%d: %s", seed, step.name))
		}
		plans += h.plans
	}
	if plans < 50*seeds {
		t.Errorf("only %d plans of a change", plans)
	}
}

// After a change of a Node, only this Node and its CIDRs are planned, however many
// other Nodes there are. The test counts how often a Node is read, and how often the
// plan asks whether a Node belongs to this daemon.
func TestPlanOfAChangeCostsThisNodeOnly(t *testing.T) {
	for _, n := range []int{1000, 20000} {
		nodes, looks := map[string]*corev1.Node{}, 0
		o := given(0)
		o.clusters = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		o.claim = ownership.Claim{Nodes: func(*corev1.Node) bool { looks++; return true }}
		for i := range n {
			node, cidr := newNode(1), fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)
			node.Name, node.UID, node.Spec.PodCIDRs = fmt.Sprint("node-", i), types.UID(fmt.Sprint("uid-", i)), []string{cidr}
			nodes[node.Name] = node
			o.memory.listing.routes = append(o.memory.listing.routes, newRoute(fmt.Sprint("r", i), node.Name, cidr))
		}
		o.nodes = slices.Collect(maps.Values(nodes))
		p := decide(o)
		if len(p.jobs)+len(p.patches) > 0 || p.counts.present != n || looks < n {
			t.Fatalf("the whole table of %d Nodes: %d jobs, %d patches, %d present after %d looks", n, len(p.jobs), len(p.patches), p.counts.present, looks)
		}
		o.memory.planned(p, o.now)
		o.node = func(name string) *corev1.Node { looks++; return nodes[name] }
		looks = 0
		for i := range 100 {
			name := fmt.Sprint("node-", i*7)
			changed := nodes[name].DeepCopy()
			changed.Status.Conditions[0].Status, changed.Status.Conditions[0].Reason = corev1.ConditionTrue, "NoRouteCreated"
			nodes[name], o.memory.touched.nodes[name], o.table = changed, true, p.table
			if p = decide(o); len(p.patches) != 1 || p.counts.present != n {
				t.Fatalf("patches %v, %d routes present", p.patches, p.counts.present)
			}
			o.memory.planned(p, o.now)
		}
		if most := 100 * 10; looks > most {
			t.Errorf("of %d Nodes, 100 changes cost %d looks, want %d at most", n, looks, most)
		}
		t.Logf("%d Nodes: %d looks for 100 changes", n, looks)
	}
}

// The informer can have a newer version of a Node than the one that it has reported.
// The plan is then made from the newer version.
func TestNodeThatIsNotReportedYetIsPlannedAsItIs(t *testing.T) {
	nodes := map[string]*corev1.Node{"node-1": newNode(1), "node-2": newNode(2)}
	o := given(2)
	p := decide(o)
	o.memory.planned(p, o.now)
	o.table, o.node = p.table, func(name string) *corev1.Node { return nodes[name] }
	withCIDR("fd00:0:0:1::/64")(nodes["node-1"])
	o.memory.touched.cidrs[netip.MustParsePrefix("10.244.1.0/24")] = true
	p = decide(o)
	if diff := cmp.Diff([]string{"create fd00:0:0:1::/64 for node-1: there is no route for its CIDR"}, digest(p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	o.memory.planned(p, o.now)
	delete(nodes, "node-1")
	o.memory.touched.cidrs[netip.MustParsePrefix("10.244.1.0/24")] = true
	if p = decide(o); p.counts.wanted != 1 {
		t.Errorf("%d routes are wanted, want that of the Node that is left", p.counts.wanted)
	}
}

// A Node can have one CIDR twice.
func TestCIDRThatANodeHasTwiceCountsOnce(t *testing.T) {
	o := given(3, podCIDRs("node-1", "10.244.1.0/24", "10.244.1.0/24"))
	table := decide(o).table
	o.node = func(string) *corev1.Node { return nil }
	table.update(&o, "node-1")
	if got := table.lengths[true][24].all; got != 2 {
		t.Errorf("%d CIDRs are counted, want those of two Nodes", got)
	}
}

func TestAgenda(t *testing.T) {
	o := given(2, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005))
	p := decide(o)
	if p.after != 5*time.Second {
		t.Fatalf("the next plan is after %v, want the end of the pause", p.after)
	}
	o.memory.planned(p, o.now)
	o.table, o.node = p.table, func(name string) *corev1.Node { return newNode(int(name[5] - '0')) }
	delete(o.memory.failures, netip.MustParsePrefix("10.244.1.0/24"))
	o.memory.touched.cidrs[netip.MustParsePrefix("10.244.1.0/24")] = true
	if p = decide(o); p.after != time.Minute || len(p.jobs) != 1 {
		t.Errorf("%d jobs, the next plan is after %v, want one job, and the regular listing", len(p.jobs), p.after)
	}
	o.now = at(1006)
	if p = decide(o); p.after != 54*time.Second {
		t.Errorf("the next plan is after %v, want the regular listing", p.after)
	}
}

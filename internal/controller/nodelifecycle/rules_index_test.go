package nodelifecycle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// isEmpty reports whether the index has no Nodes and no counts.
func (r *index) isEmpty() bool {
	return len(r.members)+len(r.holders)+len(r.kins)+len(r.circles)+len(r.zones)+r.withID+r.due.tree.Len() == 0
}

// history makes random changes to an index. It also keeps the Nodes, evidences and
// records that a recount needs.
type history struct {
	random    *rand.Rand
	now       time.Time
	limits    Limits
	claim     ownership.Claim
	index     *index
	nodes     map[string]*corev1.Node
	evidences map[string]evidence
	records   map[string]record // by UID and kind of the question
	serial    int
}

func beginHistory(seed uint64) *history {
	h := &history{
		random: rand.New(rand.NewPCG(seed, 3)), now: noon, limits: DefaultLimits(),
		claim: ownership.Claim{Nodes: func(n *corev1.Node) bool { return n.Labels["pool"] == "" }},
		nodes: map[string]*corev1.Node{}, evidences: map[string]evidence{}, records: map[string]record{},
	}
	h.limits.Witnesses = h.random.IntN(4)
	h.limits.AnnouncedByConditions = seed%2 == 0
	h.limits.Budget.Percent = 10 + 30*h.random.IntN(2)
	h.index = newIndex(h.limits, h.claim)
	return h
}

// one returns a random one of the values.
func one[T any](h *history, values ...T) T { return values[h.random.IntN(len(values))] }

// node returns a random Node, as the informer might show it.
func (h *history) node(name string, uid types.UID) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Labels: map[string]string{}, CreationTimestamp: metav1.NewTime(h.now.Add(-one(h, time.Minute, time.Hour)))}}
	n.Spec.ProviderID = one(h, "p://"+name, "p://"+name, "p://"+name, "p://same", "q://"+name, name, "")
	for label, values := range map[string][]string{
		corev1.LabelTopologyRegion: {"", "r1", "r1", "r2"}, corev1.LabelTopologyZone: {"", "z1", "z2"}, "pool": {"", "", "", "", "", "theirs"},
	} {
		if value := one(h, values...); value != "" {
			n.Labels[label] = value
		}
	}
	for _, key := range []string{one(h, "", "", "", api.TaintExternalCloudProvider), one(h, "", "", "", "karpenter.sh/disrupted")} {
		if key != "" {
			taint(key)(n)
		}
	}
	if h.random.IntN(10) == 0 {
		n.DeletionTimestamp = new(metav1.NewTime(h.now))
	}
	if status := one(h, "", corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionUnknown, corev1.ConditionUnknown, corev1.ConditionFalse); status != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(h.now.Add(-one(h, 0, time.Minute, time.Hour)))}}
	}
	if status := one(h, "", "", corev1.ConditionFalse, corev1.ConditionTrue); status != "" {
		condition(corev1.NodeDrained, status)(n)
	}
	return n
}

func (h *history) some() *corev1.Node {
	names := slices.Sorted(maps.Keys(h.nodes))
	if len(names) == 0 {
		return nil
	}
	return h.nodes[names[h.random.IntN(len(names))]]
}

func kindOf(byName bool) string { return map[bool]string{false: " by ID", true: " by name"}[byName] }

// something makes one random change.
func (h *history) something() {
	h.now = h.now.Add(one(h, 0, 0, time.Second, time.Minute, 4*time.Minute))
	n := h.some()
	switch what := h.random.IntN(12); {
	case n == nil || what < 3 && len(h.nodes) < 40:
		h.serial++
		h.show(h.node(fmt.Sprintf("n%d", h.serial), types.UID(fmt.Sprintf("u%d", h.serial))))
	case what == 3: // The Node is deleted.
		h.index.remove(n.Name)
		delete(h.nodes, n.Name)
		delete(h.evidences, n.Name)
	case what == 4: // Another Node has replaced the Node under the same name.
		h.serial++
		h.show(h.node(n.Name, types.UID(fmt.Sprintf("u%d", h.serial))))
	case what == 5:
		h.show(n.DeepCopy()) // as in a new list: nothing has changed
	case what < 8:
		h.show(h.node(n.Name, n.UID))
	case what == 8:
		e := h.evidences[n.Name].about(n).with(h.answer(), h.now)
		if h.random.IntN(4) == 0 {
			e = evidence{}
		}
		h.evidences[n.Name] = e
		h.index.judge(n.Name, e, h.now)
	default:
		asked := n.DeepCopy()
		if h.random.IntN(3) == 0 {
			asked.Spec.ProviderID = ""
		}
		a := h.answer()
		h.index.record(asked, a, h.now)
		key := string(n.UID) + kindOf(asked.Spec.ProviderID == "")
		h.records[key] = h.records[key].with(a, h.now)
	}
}

func (h *history) answer() answer {
	return answer{presence: one(h, absent, present, present, unknown), asked: h.now.Add(-time.Duration(h.random.IntN(3)) * time.Second)}
}

func (h *history) show(n *corev1.Node) {
	h.nodes[n.Name] = n
	h.index.set(n, h.evidences[n.Name], h.now)
}

// check compares the index with a recount, for the decision about one Node.
func (h *history) check(t *testing.T, node *corev1.Node) {
	t.Helper()
	o := observed{now: h.now, node: node, limits: h.limits, claim: h.claim}
	o.memory.evidence = evidence{since: h.now.Add(-one(h, 0, time.Minute, time.Hour)), answered: h.now.Add(-one(h, 0, time.Second, time.Minute))}
	o.peers = h.index.peers(node, h.now)
	again := recount{observed: o}
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		n := h.nodes[name]
		e := h.evidences[name].about(n)
		again.nodes = append(again.nodes, other{n, e.presence, !e.checkedAt.IsZero(), h.records[string(n.UID)+kindOf(o.isAskedByName())]})
	}
	want := again.witnesses()
	if o.peers.elsewhere {
		if want.others+want.foreigners > 0 || o.peers.candidates.reporting == 0 {
			t.Errorf("witnesses for %s are elsewhere although %d are near", node.Name, want.others)
		}
		o.peers.candidates, o.peers.elsewhere = candidates{}, false
		again.observed = o
	}
	w := o.witnesses()
	got := counted{
		others: w.others, reporting: w.reporting, seen: w.seen, failed: w.failed, failing: w.failing, foreigners: w.foreigners, newest: w.newest, tooManyForeign: w.tooManyForeign,
		contradicting: nameOf(w.contradicting), next: nameOf(w.next),
	}
	enough, wanted := w.areEnough(o), want.areEnough(o)
	if most := h.limits.Witnesses; want.seen >= most {
		want.seen, want.failed, got.failed, want.failing, got.failing = most, 0, 0, 0, 0 // The index counts no more than that.
	} else if got.failed >= most {
		want.failed = min(want.failed, got.failed)
	}
	if h.limits.Witnesses == 0 {
		want.newest, enough = time.Time{}, wanted // Then no decision needs witnesses.
	}
	if want.contradicting != "" {
		want.next, want.failed, want.failing, got.next, got.failed, got.failing = "", 0, 0, "", 0, 0 // The contradiction comes first.
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(counted{})); diff != "" || enough != wanted {
		t.Errorf("witnesses for %s (-recount +index), enough %v and %v:\n%s", node.Name, wanted, enough, diff)
	}
	if a, want := o.peers.absentees, again.absentees(); a != want {
		t.Errorf("absentees %+v, want %+v", a, want)
	}
	if nodes, reporting := again.zone(); o.isOver() && (o.peers.zone.nodes != nodes || o.peers.zone.reporting != reporting) {
		t.Errorf("zone %+v, want %d of %d to report", o.peers.zone, reporting, nodes)
	}
	if got, want := o.peers.hasIDs, again.hasIDs(); got != want {
		t.Errorf("Nodes have provider IDs: %v, want %v", got, want)
	}
	tried, is := again.reference()
	if p := o.peers.reference; len(h.index.confirmed) == 0 && !o.isAskedByName() && (is != (p != nil) || is && !p.record.tried.Equal(tried)) {
		t.Errorf("reference %v, want %v at %v", p, is, tried)
	}
	if want := h.records[string(node.UID)+kindOf(true)].confirmed && h.nodes[node.Name].UID == node.UID; o.peers.nameIsKnown != want {
		t.Errorf("the name is known: %v, want %v", o.peers.nameIsKnown, want)
	}
}

func (o observed) isOver() bool {
	a := o.peers.absentees
	return a.absent > o.limits.Budget.of(a.nodes)
}

func nameOf(p *peer) string {
	if p == nil {
		return ""
	}
	return p.node.Name
}

// After any sequence of changes, the counts of the index equal those of a recount.
func TestIndexIsARecount(t *testing.T) {
	histories := 300
	if testing.Short() {
		histories = 60
	}
	for seed := range uint64(histories) { // histories is not negative
		h := beginHistory(seed)
		for range 150 {
			h.something()
			if n := h.some(); n != nil {
				h.check(t, n)
				h.check(t, h.node(n.Name, n.UID)) // a version that the API server has, and the informer does not have yet
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		for name := range h.nodes {
			h.index.remove(name)
		}
		if !h.index.isEmpty() {
			t.Fatalf("seed %d: without Nodes %+v is left", seed, h.index)
		}
	}
}

// Time alone can change the standing of a Node twice. The earlier change must not be
// missed. Here, the Node becomes foreign before its kubelet falls silent.
func TestTimeAloneChangesTheCounts(t *testing.T) {
	r := newIndex(DefaultLimits(), ownership.Claim{})
	w := old("w1", ready(corev1.ConditionFalse, 0))
	r.set(w, evidence{}, noon)
	r.record(w, said(absent), noon.Add(-5*time.Minute))
	for _, tt := range []struct {
		after time.Duration
		want  candidates
	}{
		{4 * time.Minute, candidates{others: 1, reporting: 1}},
		{6 * time.Minute, candidates{foreigners: 1}},
		{10 * time.Minute, candidates{others: 1}},
	} {
		got := r.peers(n1, noon.Add(tt.after)).candidates
		if got.others != tt.want.others || got.reporting != tt.want.reporting || got.foreigners != tt.want.foreigners {
			t.Errorf("after %v: %+v, want %+v", tt.after, got, tt.want)
		}
	}
}

// The index evaluates a Node when the Node changes, not for each decision. So in a
// failure of half the cluster, the number of evaluations for each Node does not depend
// on the size of the cluster.
func TestMassFailureLooksAtEachNodeOnce(t *testing.T) {
	evaluations := func(nodes int) int {
		looked := 0
		r := newIndex(DefaultLimits(), ownership.Claim{Nodes: func(*corev1.Node) bool { looked++; return true }})
		var silent []*corev1.Node
		for n := range nodes {
			node := old(fmt.Sprintf("n%d", n))
			if n%2 == 0 {
				reports(node)
			} else {
				silent = append(silent, node)
			}
			r.set(node, evidence{}, noon)
		}
		for pass := range 3 {
			now := noon.Add(time.Duration(pass) * time.Minute)
			for _, node := range silent {
				o := observed{now: now, node: node, answer: answer{presence: absent, asked: now}, memory: gone(node, 3, time.Hour, 0), limits: r.limits, claim: r.claim}
				r.record(node, o.answer, now)
				o.peers = r.peers(node, now)
				r.judge(node.Name, decideSuspicion(o).memory.evidence, now)
			}
		}
		return looked
	}
	few, many := evaluations(200), evaluations(2000)
	if per, than := float64(many)/2000, float64(few)/200; per > 1.3*than {
		t.Errorf("%.1f evaluations for each of 2,000 Nodes and %.1f for each of 200, want the same", per, than)
	}
}

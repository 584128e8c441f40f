package nodelifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func TestMain(m *testing.M) { testlog.Run(m) }

// old returns a Node whose kubelet is silent. The Node was created a day ago.
func old(name string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("u-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-24 * time.Hour)),
			Labels: map[string]string{corev1.LabelTopologyRegion: "r1", corev1.LabelTopologyZone: "z1"},
		},
		Spec: corev1.NodeSpec{ProviderID: "p://" + name},
	}
	for _, edit := range append([]func(*corev1.Node){ready(corev1.ConditionUnknown, time.Minute)}, edits...) {
		edit(node)
	}
	return node
}

// ready returns an edit that sets the Ready condition, with a heartbeat of the given
// age.
func ready(status corev1.ConditionStatus, age time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(noon.Add(-age))}}
	}
}

func reports(n *corev1.Node) { ready(corev1.ConditionTrue, 0)(n) }

func neverReported(age time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = nil
		n.CreationTimestamp = metav1.NewTime(noon.Add(-age))
	}
}

func providerID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.ProviderID = id }
}

func taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

// said returns an answer that has just come.
func said(p presence) answer { return answer{presence: p, asked: noon} }

func fails(reason string) answer {
	return answer{asked: noon, failure: message.Cause{Reason: reason, Message: "because"}}
}

// gone returns the memory of a Node that the cloud has called absent. The parameter
// times is the number of these answers, and the last two parameters are the ages of the
// first and of the last of them.
func gone(n *corev1.Node, times int, first, last time.Duration) memory {
	return memory{evidence: evidence{
		uid: n.UID, providerID: n.Spec.ProviderID, presence: absent, absences: times, checks: times,
		since: noon.Add(-first), asked: noon.Add(-last), answered: noon.Add(-last), checkedAt: noon.Add(-last),
	}}
}

func witness(name string, p presence, asked time.Duration, edits ...func(*corev1.Node)) other {
	at := noon.Add(-asked)
	s := record{presence: p, asked: at, tried: at}
	if p == absent {
		s.since = at
	}
	return other{node: old(name, append([]func(*corev1.Node){reports}, edits...)...), checked: true, record: s}
}

// unasked returns a witness about which the cloud was never asked.
func unasked(name string, edits ...func(*corev1.Node)) other {
	return other{node: old(name, append([]func(*corev1.Node){reports}, edits...)...), checked: true}
}

// other is another Node, with the facts about it that decisions read.
type other struct {
	node     *corev1.Node
	presence presence
	checked  bool
	ago      time.Duration // of the last question
	record   record
}

// cluster has the facts about all Nodes in a test row.
type cluster struct {
	nodes     []other
	confirmed map[string]bool
	deleted   []time.Time
	recanted  time.Time
}

// seenBy adds to the observation the facts about the cluster that a decision reads.
func (c cluster) seenBy(o observed, isFinal bool) observed {
	l, s := newLedger(), newSnapshot(o.limits, o.claim, o.now)
	l.confirmed, l.deleted[kinOf(o.node)], l.recanted[kinOf(o.node)] = c.confirmed, c.deleted, c.recanted
	for _, n := range c.nodes {
		l.answers[n.node.Name] = answers{uid: n.node.UID, to: [2]*record{&n.record, &n.record}}
		e := evidence{presence: n.presence}
		if n.checked {
			e.checkedAt = o.now.Add(-n.ago)
		}
		s.add(n.node, e, l)
	}
	o.peers = view{s.whole(), l, o.node, o.memory.evidence.since, o.now, isFinal, false}.peers()
	return o
}

func peersOf(nodes ...other) cluster {
	return cluster{nodes: nodes, confirmed: map[string]bool{"p": true}}
}

// absentOf returns a cluster in which some of the Nodes are absent. The others report.
// They are in another zone, so over the budget the cloud's answers are doubtful.
func absentOf(absentOnes, all int, edits ...func(*corev1.Node)) cluster {
	var nodes []other
	for i := range all {
		m := unasked(fmt.Sprintf("m%d", i), located(corev1.LabelTopologyZone, "z2"))
		if i < absentOnes {
			m = other{node: old(fmt.Sprintf("m%d", i), edits...), presence: absent, checked: true}
		}
		nodes = append(nodes, m)
	}
	return peersOf(nodes...)
}

var (
	n1       = old("n1")
	asked    = &check{asked: true}
	complete = gone(n1, 4, 40*time.Second, 0)
	trusted  = peersOf(witness("w1", present, 0), witness("w2", present, 10*time.Second))
)

// digest describes a plan on one line, for test rows.
func digest(p plan) string {
	text := string(p.do)
	switch p.do {
	case hold:
		text += ": " + p.memory.holding.reason
	case askWitness:
		text += ": " + p.witness.Name
	case doNothing, ask, askAgain, enqueueDeletion, remove:
		text += ": " + p.why
	}
	if p.after > 0 {
		text += fmt.Sprintf("; again in %v", p.after)
	}
	if p.taints != nil {
		var keys []string
		for _, t := range *p.taints {
			keys = append(keys, t.Key)
		}
		text += strings.TrimSpace("; taints " + strings.Join(keys, " "))
	}
	if p.condition != nil {
		text += fmt.Sprintf("; condition %s %s", p.condition.Status, p.condition.Reason)
	}
	parts := []string{text}
	for _, e := range p.events {
		parts = append(parts, "event "+e.Reason)
	}
	return strings.Join(parts, "; ")
}

type row struct {
	name   string
	node   *corev1.Node
	answer answer
	memory memory
	peers  cluster
	check  *check // the progress of the final check; nil means decideSuspicion
	limits func(*Limits)
	claim  ownership.Claim
	want   string // the digest of the plan
}

// decideRow returns the plan of a row. If the plan asks about the Node once more,
// decideRow uses the answer "absent" and decides again.
func decideRow(o observed, c *check) plan {
	if c == nil {
		return decideSuspicion(o)
	}
	p := decideDeletion(o, *c)
	if p.do == askAgain {
		again := *c
		again.again = true
		o.memory, o.answer = p.memory, answer{asked: o.now, presence: absent}
		return decideDeletion(o, again)
	}
	return p
}

func checkRows(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			limits := DefaultLimits()
			if tt.limits != nil {
				tt.limits(&limits)
			}
			node := tt.node
			if node == nil {
				node = n1
			}
			before := node.DeepCopy()
			got := decideRow(tt.peers.seenBy(observed{now: noon, node: node, answer: tt.answer, memory: tt.memory, limits: limits, claim: tt.claim}, tt.check != nil), tt.check)
			if got := digest(got); got != tt.want {
				t.Errorf("plan %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(before, node); diff != "" {
				t.Errorf("the decision has changed the informer's Node:\n%s", diff)
			}
		})
	}
}

// condition returns an edit that adds a condition.
func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
	}
}

// says returns an edit that adds the condition CloudInstanceMissing.
func says(status corev1.ConditionStatus, reason string, written time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: ConditionMissing, Status: status, Reason: reason,
			LastHeartbeatTime: metav1.NewTime(noon.Add(-written)), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
}

var (
	noon          = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	nodesResource = schema.GroupResource{Resource: "nodes"}
)

func conflict() error { return apierrors.NewConflict(nodesResource, "n1", nil) }

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func reasonsOf(p plan) []string {
	var reasons []string
	for _, e := range p.events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

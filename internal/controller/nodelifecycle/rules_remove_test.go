package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// usual are the numbers of the design.
var usual = Limits{
	SilentAfter:     6 * time.Minute,
	Absences:        3,
	AbsentFor:       30 * time.Second,
	YoungAge:        5 * time.Minute,
	YoungAbsentFor:  2 * time.Minute,
	Witnesses:       2,
	Budget:          Share{3, 10},
	OverBudgetRate:  Share{5, 10},
	OverBudgetAfter: 10 * time.Minute,
	ForeignAfter:    10 * time.Minute,
	FirstPause:      5 * time.Second,
	LongestPause:    2 * time.Minute,
}

// old is a Node of an instance that has run for a day and is silent.
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

// ready sets the Ready condition with a heartbeat of that age.
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

// said is an answer that has just come.
func said(p presence) existence { return existence{presence: p, asked: noon} }

func fails(reason string) existence {
	return existence{asked: noon, failure: message.Cause{Reason: reason, Message: "because"}}
}

// gone is the memory of a Node that the cloud has called absent so often, first
// and last that long ago.
func gone(n *corev1.Node, times int, first, last time.Duration) removalMemory {
	return removalMemory{evidence: evidence{
		uid: n.UID, providerID: n.Spec.ProviderID, said: absent, absences: times, looks: times,
		since: noon.Add(-first), asked: noon.Add(-last), answered: noon.Add(-last), lookedAt: noon.Add(-last),
	}}
}

// aged is a memory whose last look is so long ago that the next one is due.
func aged(m removalMemory) removalMemory {
	m.evidence.lookedAt = noon.Add(-time.Hour)
	return m
}

func witness(name string, p presence, asked time.Duration, edits ...func(*corev1.Node)) member {
	at := noon.Add(-asked)
	s := sighting{said: p, asked: at, tried: at}
	if p == absent {
		s.since = at
	}
	return member{node: old(name, append([]func(*corev1.Node){reports}, edits...)...), looked: true, sighting: s}
}

// unasked is a witness that nobody has asked.
func unasked(name string, edits ...func(*corev1.Node)) member {
	return member{node: old(name, append([]func(*corev1.Node){reports}, edits...)...), looked: true}
}

func rosterOf(members ...member) roster {
	return roster{members: members, confirmed: map[string]bool{"p": true}}
}

// crowdOf is a roster with so many absent Nodes among so many.
func crowdOf(absentOnes, nodes int, edits ...func(*corev1.Node)) roster {
	var members []member
	for i := range nodes {
		m := unasked(fmt.Sprintf("m%d", i))
		if i < absentOnes {
			m = member{node: old(fmt.Sprintf("m%d", i), edits...), said: absent, looked: true}
		}
		members = append(members, m)
	}
	return rosterOf(members...)
}

var (
	n1       = old("n1")
	lastNow  = lastLook{isOn: true, asked: true}
	complete = gone(n1, 4, 40*time.Second, 0)
	trusted  = rosterOf(witness("w1", present, 0), witness("w2", present, 10*time.Second))
)

// removal is what a test row says about a removalPlan.
type removal struct {
	Do      step
	Why     string
	Witness string
	After   time.Duration
	Taints  []corev1.Taint
	Events  []string // reasons
}

func removalOf(p removalPlan) removal {
	got := removal{Do: p.do, Why: p.why, After: p.after}
	if p.do == hold {
		got.Why = p.memory.holding.reason
	}
	if p.witness != nil {
		got.Witness = p.witness.Name
	}
	if p.taints != nil {
		got.Taints = *p.taints
	}
	for _, e := range p.events {
		got.Events = append(got.Events, e.Reason)
	}
	return got
}

type removalRow struct {
	name     string
	node     *corev1.Node
	answer   existence
	memory   removalMemory
	roster   roster
	lastLook lastLook
	limits   func(*Limits)
	want     removal
}

func checkRemoval(t *testing.T, rows []removalRow) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			limits := usual
			if tt.limits != nil {
				tt.limits(&limits)
			}
			node := tt.node
			if node == nil {
				node = n1
			}
			before := node.DeepCopy()
			got := decideRemoval(candidate{
				now: noon, node: node, answer: tt.answer, memory: tt.memory, roster: tt.roster, lastLook: tt.lastLook, limits: limits,
			})
			if diff := cmp.Diff(tt.want, removalOf(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, node); diff != "" {
				t.Errorf("decideRemoval has changed the informer's Node:\n%s", diff)
			}
		})
	}
}

const (
	asks    = "the kubelet is silent: "
	leaves  = "the kubelet is not silent: "
	exists  = "the cloud says that the instance exists"
	vanish  = "the cloud says that the instance is gone"
	onWard  = "the absence is confirmed"
	another = "an answer about another Node is needed"
)

func TestSilence(t *testing.T) {
	checkRemoval(t, []removalRow{
		{name: "ReadyNodeIsNotAskedAbout", node: old("n1", reports), want: removal{Do: leave, Why: leaves + "it reports"}},
		{name: "UnknownIsSilentAtOnce", want: removal{Do: askExistence, Why: asks + "Ready is Unknown"}},
		{
			name: "FreshNotReadyIsTheMachineSpeaking", node: old("n1", ready(corev1.ConditionFalse, time.Minute)),
			want: removal{Do: leave, Why: leaves + "its last report is fresh", After: 5 * time.Minute},
		},
		{
			name: "OldNotReadyIsSilent", node: old("n1", ready(corev1.ConditionFalse, 6*time.Minute)),
			want: removal{Do: askExistence, Why: asks + "its last report is old"},
		},
		{
			name: "NotReadyWithoutAHeartbeatCountsFromTheCreation", node: old("n1", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
			}),
			want: removal{Do: askExistence, Why: asks + "its last report is old"},
		},
		{
			name: "NewNodeWithoutReportIsNotSilent", node: old("n1", neverReported(time.Minute)),
			want: removal{Do: leave, Why: leaves + "its last report is fresh", After: 5 * time.Minute},
		},
		{
			name: "OldNodeWithoutReportIsSilent", node: old("n1", neverReported(time.Hour)),
			want: removal{Do: askExistence, Why: asks + "it has never reported"},
		},
		{
			name: "TerminatingNodeIsLeftAlone", node: old("n1", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }),
			memory: complete, want: removal{Do: leave, Why: "the Node is being deleted"},
		},
		{
			name: "ExcludedNodeIsLeftAlone", node: old("n1", label(nodefact.LabelExclude, "")),
			memory: complete, want: removal{Do: leave, Why: "the Node is labelled " + nodefact.LabelExclude},
		},
	})
}

func TestEvidence(t *testing.T) {
	checkRemoval(t, []removalRow{
		{name: "PresentIsLeftAlone", answer: said(present), want: removal{Do: leave, Why: exists, After: 5 * time.Second}},
		{
			name: "PresentIsAskedLessAndLess", answer: said(present),
			memory: removalMemory{evidence: evidence{uid: "u-n1", providerID: "p://n1", said: present, looks: 3, lookedAt: noon.Add(-time.Hour)}},
			want:   removal{Do: leave, Why: exists, After: 40 * time.Second},
		},
		{
			name: "ButNeverLessThanTheLongestPause", answer: said(present),
			memory: removalMemory{evidence: evidence{uid: "u-n1", providerID: "p://n1", said: present, looks: 30, lookedAt: noon.Add(-time.Hour)}},
			want:   removal{Do: leave, Why: exists, After: 2 * time.Minute},
		},
		{
			name: "NoQuestionBeforeItIsDue", memory: removalMemory{evidence: evidence{uid: "u-n1", providerID: "p://n1", said: present, looks: 1, lookedAt: noon.Add(-2 * time.Second)}},
			want: removal{Do: leave, Why: exists, After: 3 * time.Second},
		},
		{
			name: "FirstAbsenceHolds", answer: said(absent),
			want: removal{Do: hold, Why: "AbsenceUnconfirmed", After: 15 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "PresentResets", answer: said(present), memory: complete,
			want: removal{Do: leave, Why: exists, After: 5 * time.Second},
		},
		{
			name: "TwoAbsencesAreTooFew", answer: said(absent), memory: gone(n1, 1, time.Minute, time.Minute),
			want: removal{Do: hold, Why: "AbsenceUnconfirmed", After: 15 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "ThreeAbsencesTooSoon", answer: said(absent), memory: gone(n1, 2, 29*time.Second, 15*time.Second),
			want: removal{Do: hold, Why: "AbsenceUnconfirmed", After: 15 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "LateAnswerCountsFromItsQuestion", answer: existence{presence: absent, asked: noon.Add(-10 * time.Second)},
			memory: gone(n1, 2, 35*time.Second, 15*time.Second),
			want:   removal{Do: hold, Why: "AbsenceUnconfirmed", After: 15 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "ConfirmedGoesToTheLastLook", answer: said(absent), memory: gone(n1, 2, 30*time.Second, 15*time.Second), roster: trusted,
			want: removal{Do: lookLast, Why: onWard, After: time.Minute},
		},
		{
			name: "YoungNodeNeedsTwoMinutes", node: old("n1", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(noon.Add(-4 * time.Minute)) }),
			answer: said(absent), memory: gone(n1, 5, time.Minute, 15*time.Second), roster: trusted,
			want: removal{Do: hold, Why: "AbsenceUnconfirmed", After: time.Minute, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "UninitialisedNodeNeedsTwoMinutes", node: old("n1", taint(api.TaintExternalCloudProvider)),
			answer: said(absent), memory: gone(n1, 5, time.Minute, 15*time.Second), roster: trusted,
			want: removal{Do: hold, Why: "AbsenceUnconfirmed", After: time.Minute, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "FailureNeitherCounts", answer: fails("CloudDenied"),
			want: removal{Do: hold, Why: "CloudDenied", After: 5 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "NorResets", answer: said(absent), memory: func() removalMemory {
				m := gone(n1, 2, time.Minute, 30*time.Second)
				m.evidence.failure = message.Cause{Reason: "CloudDenied", Message: "because"}
				return m
			}(), roster: trusted,
			want: removal{Do: lookLast, Why: onWard, After: time.Minute},
		},
		{
			name: "FailureAfterTheLastAbsenceHolds", answer: fails("CloudSlow"), memory: complete, roster: trusted,
			want: removal{Do: hold, Why: "CloudSlow", After: time.Minute, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "FailureAfterPresentIsShown", answer: fails("CloudSlow"),
			memory: removalMemory{evidence: evidence{uid: "u-n1", providerID: "p://n1", said: present, looks: 1, lookedAt: noon.Add(-time.Hour)}},
			want:   removal{Do: hold, Why: "CloudSlow", After: 10 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "ReadyResets", node: old("n1", reports), memory: complete, want: removal{Do: leave, Why: leaves + "it reports"},
		},
		{
			name: "NewUIDResets", node: old("n1", func(n *corev1.Node) { n.UID = "u2" }), memory: complete,
			want: removal{Do: askExistence, Why: asks + "Ready is Unknown"},
		},
		{
			name: "NewNodeInheritsNothing", node: old("n1", func(n *corev1.Node) { n.UID = "u2" }, reports), memory: func() removalMemory {
				m := complete
				m.holding = holding{reason: "NoWitness", open: true}
				return m
			}(), want: removal{Do: leave, Why: leaves + "it reports"},
		},
		{
			name: "DeletedNodeInTheCacheIsLeftAlone", memory: removalMemory{deleted: "u-n1"}, want: removal{Do: leave, Why: "the Node is deleted"},
		},
		{
			name: "OneAnswerIsEnoughIfSaidSo", answer: said(absent), roster: trusted, limits: func(l *Limits) { l.Absences, l.AbsentFor = 1, 0 },
			want: removal{Do: lookLast, Why: onWard, After: 5 * time.Second},
		},
		{
			name: "AnotherProviderIDResets", node: old("n1", providerID("p://2")), memory: complete,
			want: removal{Do: askExistence, Why: asks + "Ready is Unknown"},
		},
		{
			name: "DeletionSwitchedOff", answer: said(absent), memory: aged(complete), roster: trusted, limits: func(l *Limits) { l.Off = true },
			want: removal{Do: hold, Why: "DeletionDisabled", After: time.Minute, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "UpstreamsNumbersDeleteAtOnce", answer: said(absent), limits: func(l *Limits) {
				*l = Limits{Absences: 1, Budget: Share{0, 100}, OverBudgetRate: Share{1, 100}, FirstPause: time.Second, LongestPause: time.Minute}
			}, lastLook: lastNow,
			want: removal{Do: remove, Why: vanish},
		},
	})
}

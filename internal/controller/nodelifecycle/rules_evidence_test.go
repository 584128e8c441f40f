package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

func TestEvidence(t *testing.T) {
	checkRows(t, []row{
		{name: "PresentIsLeftAlone", answer: said(present), want: "nothing: the cloud says that the instance exists; again in 5s"},
		{
			name: "PauseDoublesWhileTheInstanceIsPresent", answer: said(present),
			memory: memory{evidence: evidence{uid: "u-n1", providerID: "p://n1", presence: present, checks: 3, checkedAt: noon.Add(-time.Hour)}},
			want:   "nothing: the cloud says that the instance exists; again in 40s",
		},
		{
			name: "PauseIsBounded", answer: said(present),
			memory: memory{evidence: evidence{uid: "u-n1", providerID: "p://n1", presence: present, checks: 30, checkedAt: noon.Add(-time.Hour)}},
			want:   "nothing: the cloud says that the instance exists; again in 2m0s",
		},
		{
			name: "NoQuestionBeforeItIsDue", memory: memory{evidence: evidence{uid: "u-n1", providerID: "p://n1", presence: present, checks: 1, checkedAt: noon.Add(-2 * time.Second)}},
			want: "nothing: the cloud says that the instance exists; again in 3s",
		},
		{
			name: "FirstAbsenceHoldsTheDeletion", answer: said(absent),
			want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "PresentResets", answer: said(present), memory: complete,
			want: "nothing: the cloud says that the instance exists; again in 5s",
		},
		{
			name: "TwoAbsencesAreTooFew", answer: said(absent), memory: gone(n1, 1, time.Minute, time.Minute),
			want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "ThreeAbsencesTooSoon", answer: said(absent), memory: gone(n1, 2, 29*time.Second, 15*time.Second),
			want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "LateAnswerCountsFromItsQuestion", answer: answer{presence: absent, asked: noon.Add(-10 * time.Second)},
			memory: gone(n1, 2, 35*time.Second, 15*time.Second),
			want:   "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "AnswerToAQuestionFromBeforeTheLastReportDoesNotCount", answer: answer{presence: absent, asked: noon.Add(-5 * time.Minute)},
			memory: begun(memory{}, n1, noon.Add(-time.Minute)),
			want:   "hold: CloudSlow; again in 5s; event NodeDeletionHeld",
		},
		{
			name: "AnswerToAQuestionFromBeforeTheLastReportDoesNotCountAfterPresentEither", answer: answer{presence: absent, asked: noon.Add(-5 * time.Minute)},
			memory: func() memory {
				m := begun(memory{}, n1, noon.Add(-time.Minute))
				m.evidence = m.evidence.with(said(present), noon.Add(-time.Minute))
				return m
			}(),
			want: "hold: CloudSlow; again in 10s; event NodeDeletionHeld",
		},
		{
			name: "AnswerToTheFirstQuestionInThisSilenceCounts", answer: answer{presence: absent, asked: noon.Add(-time.Minute)},
			memory: begun(memory{}, n1, noon.Add(-time.Minute)),
			want:   "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "ReportThatNoPassHasSeenResets", node: old("n1", ready(corev1.ConditionUnknown, 0)), memory: begun(complete, n1, noon.Add(-time.Minute)),
			want: "ask the cloud: the kubelet is silent: Ready is Unknown",
		},
		{
			name: "ReportThatNoPassHasSeenResetsTheFinalCheckToo", node: old("n1", ready(corev1.ConditionUnknown, 0)), memory: begun(complete, n1, noon.Add(-time.Minute)),
			check: &check{}, peers: trusted,
			want: "ask the cloud: the kubelet is silent: Ready is Unknown",
		},
		{
			name: "NodeThatHasNeverReportedHasNotReported", node: old("n1", func(n *corev1.Node) {
				n.Status.Conditions[0].LastHeartbeatTime = n.CreationTimestamp
			}), memory: begun(complete, old("n1", func(n *corev1.Node) { n.Status.Conditions = nil }), noon.Add(-time.Minute)), answer: said(absent), peers: trusted,
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "ConfirmedAbsenceGoesToTheFinalCheck", answer: said(absent), memory: gone(n1, 2, 30*time.Second, 15*time.Second), peers: trusted,
			want: "enqueue for the final check: the absence is confirmed; again in 1m0s",
		},
		{
			name: "YoungNodeNeedsTwoMinutes", node: old("n1", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(noon.Add(-4 * time.Minute)) }),
			answer: said(absent), memory: gone(n1, 5, time.Minute, 15*time.Second), peers: trusted,
			want: "hold: AbsenceUnconfirmed; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "UninitialisedNodeNeedsTwoMinutes", node: old("n1", taint(api.TaintExternalCloudProvider)),
			answer: said(absent), memory: gone(n1, 5, time.Minute, 15*time.Second), peers: trusted,
			want: "hold: AbsenceUnconfirmed; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "FailureDoesNotCount", answer: fails("CloudDenied"),
			want: "hold: CloudDenied; again in 5s; event NodeDeletionHeld",
		},
		{
			name: "OutageForAllNodesDoesNotLengthenThePause", answer: func() answer {
				a := fails("CloudUnavailable")
				a.again = 3 * time.Second
				return a
			}(),
			memory: memory{evidence: evidence{uid: "u-n1", providerID: "p://n1", checks: 30, checkedAt: noon.Add(-time.Hour)}},
			want:   "hold: CloudUnavailable; again in 3s; event NodeDeletionHeld",
		},
		{
			name: "FailureDoesNotReset", answer: said(absent), memory: func() memory {
				m := gone(n1, 2, time.Minute, 30*time.Second)
				m.evidence.failure = message.Cause{Reason: "CloudDenied", Message: "because"}
				return m
			}(), peers: trusted,
			want: "enqueue for the final check: the absence is confirmed; again in 1m0s",
		},
		{
			name: "FailureAfterTheLastAbsenceHolds", answer: fails("CloudSlow"), memory: complete, peers: trusted,
			want: "hold: CloudSlow; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "FailureAfterPresentIsShown", answer: fails("CloudSlow"),
			memory: memory{evidence: evidence{uid: "u-n1", providerID: "p://n1", presence: present, checks: 1, checkedAt: noon.Add(-time.Hour)}},
			want:   "hold: CloudSlow; again in 10s; event NodeDeletionHeld",
		},
		{
			name: "ReadyResets", node: old("n1", reports), memory: complete, want: "nothing: the kubelet is not silent: it reports",
		},
		{
			name: "NewUIDResets", node: old("n1", func(n *corev1.Node) { n.UID = "u2" }), memory: complete,
			want: "ask the cloud: the kubelet is silent: Ready is Unknown",
		},
		{
			name: "NewNodeInheritsNothing", node: old("n1", func(n *corev1.Node) { n.UID = "u2" }, reports), memory: func() memory {
				m := complete
				m.holding = holding{reason: "NoWitness", open: true}
				return m
			}(), want: "nothing: the kubelet is not silent: it reports",
		},
		{
			name: "DeletedNodeInTheCacheIsLeftAlone", memory: memory{deleted: "u-n1"}, want: "nothing: the Node is deleted",
		},
		{
			name: "OneAnswerIsEnoughIfTheFlagsSaySo", answer: said(absent), peers: trusted, limits: func(l *Limits) { l.Absences, l.AbsentFor = 1, 0 },
			want: "enqueue for the final check: the absence is confirmed; again in 5s",
		},
		{
			name: "AnotherProviderIDResets", node: old("n1", providerID("p://2")), memory: complete,
			want: "ask the cloud: the kubelet is silent: Ready is Unknown",
		},
		{
			name: "DeletionSwitchedOffIsReportedAtTheFirstAbsence", answer: said(absent), limits: func(l *Limits) { l.Off = true },
			want: "hold: DeletionDisabled; again in 15s; event NodeDeletionHeld",
		},
		{
			name: "DeletionSwitchedOff", answer: said(absent), memory: aged(complete), peers: trusted, limits: func(l *Limits) { l.Off = true },
			want: "hold: DeletionDisabled; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "LimitsLikeUpstreamsDeleteAtOnce", answer: said(absent), limits: func(l *Limits) {
				*l = Limits{Absences: 1, Budget: Share{0, 100}, OverBudgetRate: Share{1, 100}, FirstPause: time.Second, LongestPause: time.Minute}
			}, check: asked,
			want: "delete: the cloud says that the instance does not exist",
		},
	})
}

// By default, the error "not found" is an error like any other. With the flag, it
// counts as one absence if the Node has a provider ID.
func TestNotFoundError(t *testing.T) {
	notFound := answer{asked: noon, notFound: true, failure: message.Cause{Reason: "CloudFailed", Message: "because"}}
	byFlag := Limits{NotFoundIsAbsent: true}
	for _, tt := range []struct {
		name   string
		limits Limits
		node   *corev1.Node
		answer answer
		want   presence
	}{
		{"ItIsAnErrorByDefault", DefaultLimits(), n1, notFound, unknown},
		{"ItIsAbsentByFlag", byFlag, n1, notFound, absent},
		{"ItIsAbsentForAWitnessToo", byFlag, old("w1", reports), notFound, absent},
		{"ItIsAnErrorAboutANodeWithoutProviderID", byFlag, old("n1", providerID("")), notFound, unknown},
		{"AnotherErrorIsAnErrorByFlagToo", byFlag, n1, fails("CloudDenied"), unknown},
		{"PresentStaysPresent", byFlag, n1, said(present), present},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.limits.counted(tt.node, tt.answer)
			if got.presence != tt.want || got.asked != noon || got.failure.IsZero() != (tt.want != unknown) {
				t.Errorf("%+v, want the presence %v", got, tt.want)
			}
			before := gone(tt.node, 1, time.Minute, time.Minute).evidence
			if after := before.with(got, noon); tt.want == absent && after.absences != before.absences+1 {
				t.Errorf("%d absences after %d, want one more", after.absences, before.absences)
			}
		})
	}
}

// begun returns the memory of a Node about which the cloud was first asked at the given
// time in this silence of the kubelet.
func begun(m memory, node *corev1.Node, from time.Time) memory {
	m.evidence = m.evidence.about(node).begun(node, from)
	return m
}

// aged returns the memory with a last question that was so long ago that the next one
// is due.
func aged(m memory) memory {
	m.evidence.checkedAt = noon.Add(-time.Hour)
	return m
}

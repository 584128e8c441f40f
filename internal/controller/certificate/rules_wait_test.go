package certificate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message/messagetest"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestReasonsAreComplete(t *testing.T) { messagetest.ReasonsAreComplete(t, Reasons()) }

func used(l allowance.Limit, times int) (a allowance.Allowance) {
	for range times {
		a = a.Used(l, noon.Add(-time.Second))
	}
	return a
}

func TestTooMany(t *testing.T) {
	r := csr(t)
	l := DefaultLimits().approvals()
	check(t, []row{
		{"TwoNewerRequests", situation(r, func(o *observed) { o.newer = 2 }), "approve FairleadKubeletServing", ""},
		{"ThreeNewerRequests", situation(r, func(o *observed) { o.newer = 3 }), "wait TooMany", "newer"},
		{"LastQuestion", situation(r, unasked, func(o *observed) { o.questions = used(questionLimit, 11) }), "ask the cloud", ""},
		{"TooManyQuestions", situation(r, unasked, func(o *observed) { o.questions = used(questionLimit, 12) }), "wait TooMany", "does not ask the cloud"},
		{"LastApproval", situation(r, func(o *observed) { o.approvals = used(l, 49) }), "approve FairleadKubeletServing", ""},
		{"TooManyApprovals", situation(r, func(o *observed) { o.approvals = used(l, 52) }), "wait TooMany", "--serving-certificate-approvals-per-minute"},
		{"NothingIsAskedWhileNothingMayBeApproved", situation(r, unasked, func(o *observed) { o.approvals = used(l, 52) }), "wait TooMany", "--serving-certificate-approvals-per-minute"},
	})
}

// TestWhenItIsLookedAtAgain checks the time of the next pass.
func TestWhenItIsLookedAtAgain(t *testing.T) {
	r := csr(t)
	unproven := refusal(denied, identityUnproven.Name)
	vain := func(n int) func(*observed) {
		return func(o *observed) { o.memory = memory{uid: r.UID, vain: n} }
	}
	for _, tt := range []struct {
		name  string
		o     observed
		after time.Duration
		soon  bool
	}{
		{"FirstAnswerInVain", situation(r, unproven), 5 * time.Second, false},
		{"SecondAnswerInVain", situation(r, unproven, vain(1)), 10 * time.Second, false},
		{"VainAnswersOfAnotherRequestDoNotCount", situation(r, unproven, func(o *observed) { o.memory = memory{uid: "u-older", vain: 8} }), 5 * time.Second, false},
		{"NotAfterTheEnd", situation(r, unproven, vain(20)), time.Hour - time.Second, false},
		{"AddressUnproven", situation(csr(t, addresses("10.0.0.9"))), 5 * time.Second, false},
		{"CloudCannotBeAsked", situation(r, refusal(failed, "CloudSlow"), vain(9)), 0, true},
		{"WrongRequestAtItsEnd", situation(csr(t, names("*.a"))), time.Hour - time.Second, false},
		{"TooManyQuestions", situation(r, unasked, func(o *observed) { o.questions = used(questionLimit, 12) }), 29 * time.Second, false},
	} {
		if p := decide(tt.o); p.after != tt.after || p.soon != tt.soon {
			t.Errorf("%s: after %v, soon %v (%s), want %v, %v", tt.name, p.after, p.soon, p.why, tt.after, tt.soon)
		}
	}
}

func TestEvents(t *testing.T) {
	excluded := node("b", func(n *corev1.Node) { n.Labels[ownership.LabelExclude] = "" })
	says := func(reason string, ago time.Duration) func(*observed) {
		return func(o *observed) { o.told = map[string]showing.News{"a": {reason: noon.Add(-ago)}} }
	}
	wrong := csr(t, names("*.a"))
	for _, tt := range []struct {
		name string
		o    observed
		want []string // Nodes
	}{
		{"FirstReason", situation(wrong), []string{"a"}},
		{"SameReasonIsNoEvent", situation(wrong, says("WrongSubject", showing.RepeatAfter-time.Second)), nil},
		{"SameReasonIsRepeated", situation(wrong, says("WrongSubject", showing.RepeatAfter)), []string{"a"}},
		{"AnotherReason", situation(wrong, says("WeakKey", time.Second)), []string{"a"}},
		{"ContestedIsReportedOnBoth", situation(csr(t), heldBy(node("b"))), []string{"a", "b"}},
		{"ContestedIsNotSaidOnANodeOfOthers", situation(csr(t), heldBy(excluded)), []string{"a"}},
		{"RequestOfNoNodeIsReportedNowhere", situation(csr(t, of("alice")), func(o *observed) { o.node = nil }), nil},
		{"NodeOfOthersGetsNoEvent", situation(csr(t), on(node("a", func(n *corev1.Node) { n.Labels[ownership.LabelExclude] = "" }))), nil},
		{"ShortWaitIsNoEvent", situation(csr(t), unasked, func(o *observed) { o.questions = allowance.Allowance{}.Used(questionLimit, noon) }), nil},
		{"ApprovalIsNoEvent", situation(csr(t)), nil},
	} {
		var got []string
		for _, e := range decide(tt.o).events {
			got = append(got, e.node.Name)
			if e.event.Reason != "ServingCertificateHeld" || !strings.Contains(e.event.Message, "csr-1") {
				t.Errorf("%s: event %v", tt.name, e.event)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: events on (-want +got):\n%s", tt.name, diff)
		}
	}
}

package node

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestWaiting(t *testing.T) {
	var (
		long   = noon.Add(-2 * time.Minute)
		denied = message.Cause{Reason: "CloudDenied", Message: "because"}
	)
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		memory    memory
		event     bool
		condition bool
	}{
		{"FirstRefusalIsAnEvent", fresh(), memory{}, true, false},
		{"SameReasonIsNoEvent", fresh(), memory{waitsSince: noon, recorded: showing.News{"CloudDenied": noon}}, false, false},
		{"AnotherReasonIsAnEvent", fresh(), memory{waitsSince: noon, recorded: showing.News{"CloudSlow": long}}, true, false},
		{"AlternatingReasonsAreNotAllRecorded", fresh(), memory{waitsSince: noon, recorded: showing.News{"CloudSlow": noon, "CloudDenied": noon.Add(-time.Minute)}}, false, false},
		{"NewLeaderDoesNotRepeatWhatTheNodeShows", fresh(shows(corev1.ConditionFalse, "CloudDenied", "because", long)), memory{}, false, false},
		{"NewLeaderTellsAnotherReason", fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", long)), memory{}, true, true},
		{"ConditionIsWrittenAfterAMinute", fresh(), memory{waitsSince: noon.Add(-time.Minute), recorded: showing.News{"CloudDenied": noon}}, false, true},
		{"ConditionIsWrittenAMinuteAfterTheCreationAlsoByANewLeader", fresh(func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(long) }), memory{}, true, true},
		{"ConditionIsWrittenOnce", fresh(shows(corev1.ConditionFalse, "CloudDenied", "because", long)), memory{waitsSince: long, recorded: showing.News{"CloudDenied": noon}}, false, false},
		{"MessageIsRewrittenSlowly", fresh(shows(corev1.ConditionFalse, "CloudDenied", "of old", long)), memory{waitsSince: long, recorded: showing.News{"CloudDenied": noon}}, false, false},
		{"MessageIsRewritten", fresh(shows(corev1.ConditionFalse, "CloudDenied", "of old", noon.Add(-5*time.Minute))), memory{waitsSince: long, recorded: showing.News{"CloudDenied": noon}}, false, true},
		{"AlternatingReasonsDoNotRewriteTheCondition", fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", noon)), memory{waitsSince: long, recorded: showing.News{"CloudDenied": noon}}, false, false},
		{"ConditionOfAnEarlierSuccessIsCorrectedAtOnce", fresh(shows(corev1.ConditionTrue, "Initialized", "", noon)), memory{}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.memory.uid = "u1"
			p := decide(observed{now: noon, node: tt.node, memory: tt.memory, answer: answer{given: refused, cause: denied}})
			if got := len(p.events) > 0; got != tt.event {
				t.Errorf("event = %v, want %v", p.events, tt.event)
			}
			if got := p.condition != nil; got != tt.condition {
				t.Errorf("condition = %v, want %v", p.condition, tt.condition)
			}
			if p.memory.waitsSince.IsZero() || p.memory.waitsFor != "CloudDenied" {
				t.Errorf("memory = %+v, want since when and for what the Node waits", p.memory)
			}
		})
	}
}

// With --node-condition=always, the condition is written once on each Node of this
// cloud, and only after the Node is initialised. Otherwise it is removed from each.
func TestEachNodeShowsThatItIsInitialised(t *testing.T) {
	const removed = corev1.ConditionStatus("removed")
	shown := shows(corev1.ConditionTrue, "Initialized", "", noon)
	waitsAgain := func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, uninitialized) }
	for _, tt := range []struct {
		name   string
		node   *corev1.Node
		answer answer
		memory memory
		holder string
		off    bool
		want   corev1.ConditionStatus
	}{
		{name: "NodeThatHasWaited", node: settled(shows(corev1.ConditionFalse, "CloudDenied", "", noon)), off: true, want: removed},
		{name: "NodeThatHasWaitedIsReleased", node: fresh(shows(corev1.ConditionFalse, "CloudDenied", "", noon)), answer: machine(), off: true, want: removed},
		{name: "NodeThatHasWaitedShowsItAfterItsRelease", node: fresh(shows(corev1.ConditionFalse, "CloudDenied", "", noon)), answer: machine()},
		{name: "NotWhileAReleaseIsRefused", node: settled(waitsAgain, shows(corev1.ConditionFalse, "WriteRejected", "", noon)), answer: machine(), off: true},
		{name: "NodeFromBeforeTheFlagWasTakenAway", node: settled(shown), answer: machine(), off: true, want: removed},
		{name: "NotANodeOfAnotherCloud", node: settled(shown), answer: refusing("InstanceNotFound"), off: true},
		{name: "NotWhileTheCloudHasSaidNothingOfANodeThatIsTrue", node: settled(shown), off: true},
		{name: "WrittenByOthersIsNotRemovedAtOnce", node: settled(shown), answer: machine(), off: true, memory: memory{endedAt: noon.Add(-showing.PutBackAfter + time.Second)}},
		{name: "WrittenByOthersIsRemoved", node: settled(shown), answer: machine(), off: true, memory: memory{endedAt: noon.Add(-showing.PutBackAfter)}, want: removed},
		{name: "NodeThatWasInitialised", node: settled(), memory: memory{released: true}, want: corev1.ConditionTrue},
		{name: "NodeThatTheCloudDescribes", node: settled(), answer: machine(), want: corev1.ConditionTrue},
		{name: "NothingWithoutTheFlag", node: settled(), answer: machine(), memory: memory{released: true}, off: true},
		{name: "NotWhileTheCloudHasSaidNothing", node: settled()},
		{name: "NotWhenTheCloudRefuses", node: settled(), answer: refusing("CloudDenied")},
		{name: "NotWhenTheCloudDescribesAnother", node: settled(), answer: machine(func(i *instance) { i.providerID = "p://2" }), holder: "n2"},
		{name: "NotAMachineWithoutProviderID", node: settled(func(n *corev1.Node) { n.Spec.ProviderID = "" }), answer: machine()},
		{name: "NotBeforeTheTaintIsRemoved", node: fresh(), answer: machine()},
		{name: "ShownOnce", node: settled(shown), answer: machine(), memory: memory{released: true}},
		{name: "RemovedByOthersIsNotPutBackAtOnce", node: settled(), answer: machine(), memory: memory{endedAt: noon.Add(-showing.PutBackAfter + time.Second)}},
		{name: "ChangedByOthersIsNotPutBackAtOnce", node: settled(shows(corev1.ConditionFalse, "Theirs", "", noon)), answer: machine(), memory: memory{endedAt: noon.Add(-showing.PutBackAfter + time.Second)}},
		{name: "ChangedByOthersIsPutBack", node: settled(shows(corev1.ConditionFalse, "Theirs", "", noon)), answer: machine(), memory: memory{endedAt: noon.Add(-showing.PutBackAfter)}, want: corev1.ConditionTrue},
		{name: "EndOfAWaitIsShownAtOnce", node: settled(shows(corev1.ConditionFalse, "CloudDenied", "", noon)), answer: machine(), want: corev1.ConditionTrue},
		{name: "RemovedByOthersIsPutBack", node: settled(), answer: machine(), memory: memory{endedAt: noon.Add(-showing.PutBackAfter)}, want: corev1.ConditionTrue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.memory.uid = "u1"
			p := decide(observed{now: noon, node: tt.node, memory: tt.memory, answer: tt.answer, holder: tt.holder, policy: follows, always: !tt.off})
			var got corev1.ConditionStatus
			if p.condition != nil {
				got = p.condition.Status
			}
			if p.without == ConditionInitialized {
				got += removed
			}
			if got != tt.want {
				t.Errorf("condition %q, want %q", got, tt.want)
			}
			if wrote := p.memory.endedAt.Equal(noon); wrote != (tt.want != "") {
				t.Errorf("remembered as written: %v", wrote)
			}
			if isLater := tt.want == "" && !tt.memory.endedAt.IsZero() && len(tt.node.Status.Conditions) > 0; isLater != (p.after > 0) {
				t.Errorf("the next look is after %v", p.after)
			}
			if p.memory.released != (p.do == release && !tt.off) {
				t.Errorf("released = %v after the action %s", p.memory.released, p.do)
			}
		})
	}
}

// Somebody removes the condition again and again. Between two such removals, passes
// write nothing, because the condition is there or because the cloud has said nothing.
// They do not forget when the condition was last written.
func TestConditionThatOthersRemoveIsRarelyPutBack(t *testing.T) {
	shown := shows(corev1.ConditionTrue, "Initialized", "", noon)
	m, writes := memory{uid: "u1"}, 0
	for n := range 30 {
		for _, node := range []*corev1.Node{settled(), settled(shown)} {
			for _, a := range []answer{machine(), {}} {
				p := decide(observed{now: noon.Add(time.Duration(n) * 10 * time.Second), node: node, memory: m, answer: a, policy: follows, always: true})
				if m = p.memory; p.condition != nil {
					writes++
				}
			}
		}
	}
	if writes != 1 {
		t.Errorf("the condition is written %d times in five minutes, want once", writes)
	}
}

// After questions in vain, the cloud is asked less and less often about the Node. In
// the end, questions about other Nodes go first. A change of the Node ends the pause.
func TestQuestionsInVainBecomeRare(t *testing.T) {
	for _, tt := range []struct {
		name      string
		memory    memory
		reason    string
		after     time.Duration
		unhurried bool
	}{
		{"FirstAnswer", memory{}, "InstanceNotFound", time.Second, false},
		{"PauseDoubles", memory{vain: 3}, "CloudDenied", 8 * time.Second, false},
		{"LongPausesAreInNoHurry", memory{vain: 7}, "ProviderIDMismatch", 128 * time.Second, true},
		{"PauseIsBounded", memory{vain: 40}, "InstanceNotFound", 15 * time.Minute, true},
		{"ChangeOfTheNodeBeginsAnew", memory{vain: 40, nextAsk: noon.Add(time.Second)}, "InstanceNotFound", time.Second, false},
		{"FailureOfTheCloudIsUrgent", memory{}, "CloudUnavailable", 0, false},
		{"FailureOfTheCloudMakesNoNodeMoreUrgent", memory{vain: 40}, "CloudSlow", time.Minute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.memory.uid = "u1"
			asked := decide(observed{now: noon, node: fresh(), memory: tt.memory})
			if asked.do != ask || asked.unhurried != tt.unhurried {
				t.Errorf("%v, in no hurry: %v, want a question and %v", asked.do, asked.unhurried, tt.unhurried)
			}
			p := decide(observed{now: noon, node: fresh(), memory: asked.memory, answer: refusing(tt.reason)})
			if p.after != tt.after {
				t.Errorf("asked again after %v, want %v", p.after, tt.after)
			}
			again := decide(observed{now: noon.Add(time.Hour), node: fresh(), memory: p.memory, answer: refusing(tt.reason)})
			if says := strings.Contains(again.condition.Message, "asked about this Node again within"); says != (again.after > time.Minute) {
				t.Errorf("condition %q, the pause is %v", again.condition.Message, again.after)
			}
		})
	}
}

// An outage of the whole cloud does not count against any Node. The pause of a Node
// does not grow, and its questions are not used up. One event reports the outage.
func TestOutageCountsForNoNode(t *testing.T) {
	m, now, events := memory{uid: "u1", vain: 7}, noon, 0
	for range 100 {
		asked := decide(observed{now: now, node: fresh(), memory: m})
		if asked.do != ask {
			t.Fatalf("%s: %s, want a question", now, asked.do)
		}
		held := refusing("CloudUnavailable")
		held.again = 3 * time.Second
		p := decide(observed{now: now, node: fresh(), memory: asked.memory, answer: held})
		if p.after != held.again || p.memory.vain != 7 {
			t.Fatalf("asked again after %v, %d in vain, want %v and 7", p.after, p.memory.vain, held.again)
		}
		events += len(p.events)
		m, now = p.memory, now.Add(p.after)
	}
	if events != 1 {
		t.Errorf("%d events in an outage, want one", events)
	}
}

func TestConditionKeepsItsTransitionTime(t *testing.T) {
	shown := fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", noon.Add(-time.Hour)))
	p := decide(observed{now: noon, node: shown, answer: refusing("CloudDenied")})
	if got, want := p.condition.LastTransitionTime.Time, noon.Add(-time.Hour); !got.Equal(want) {
		t.Errorf("False after False has transition time %v, want %v", got, want)
	}
	p = decide(observed{now: noon, node: settled(shows(corev1.ConditionFalse, "CloudSlow", "because", noon.Add(-time.Hour))), always: true})
	if got := p.condition.LastTransitionTime.Time; !got.Equal(noon) {
		t.Errorf("True after False has transition time %v, want %v", got, noon)
	}
}

// That a wait is over is shown at once, even if the condition was True a short time before
// the wait. Only what somebody else has written is put back slowly.
func TestEndOfAWaitIsShownAtOnce(t *testing.T) {
	before := memory{uid: "u1", waitsSince: noon.Add(-2 * time.Minute), endedAt: noon.Add(-time.Minute)}
	waits := decide(observed{now: noon, node: fresh(shows(corev1.ConditionTrue, "Initialized", "", noon.Add(-time.Minute))), answer: refusing("CloudDenied"), memory: before})
	if waits.condition == nil || waits.condition.Status != corev1.ConditionFalse {
		t.Fatalf("the wait is not shown: %v", waits.condition)
	}
	over := decide(observed{now: noon.Add(time.Second), node: settled(shows(corev1.ConditionFalse, "CloudDenied", "", noon)), answer: machine(), memory: waits.memory, policy: follows})
	if over.without != ConditionInitialized {
		t.Errorf("the condition stays, next look after %v", over.after)
	}
}

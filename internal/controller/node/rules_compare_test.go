package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestWhatAListConfirms(t *testing.T) {
	full := machine(with(map[string]string{"rack": "a"}))
	ours := func(edits ...func(*corev1.Node)) *corev1.Node {
		node := settled(label("rack", "a"), annotation(AnnotationLabels, `{"rack":"a"}`))
		for _, edit := range edits {
			edit(node)
		}
		return node
	}
	less := func(edit func(*instance)) answer { return machine(with(map[string]string{"rack": "a"}), edit) }
	for _, tt := range []struct {
		name     string
		node     *corev1.Node
		answer   answer
		confirms bool
		differs  bool
	}{
		{"NodeIsAsTheListSays", ours(), full, true, false},
		{"AnotherAddress", ours(), less(func(i *instance) { i.addresses = []corev1.NodeAddress{internal} }), false, true},
		{"AnotherType", ours(), less(func(i *instance) { i.size = "large" }), false, true},
		{"AnotherLabel", ours(), machine(with(map[string]string{"rack": "b"})), false, true},
		{"OneMoreLabel", ours(), machine(with(map[string]string{"rack": "a", "row": "1"})), false, true},
		{"AnotherZoneIsReported", ours(), less(func(i *instance) { i.zone = "z2" }), false, false},
		{"NoLabel", ours(), machine(), false, false},
		{"NoAddresses", ours(), less(func(i *instance) { i.addresses = nil }), false, false},
		{"NoIPAddress", ours(), less(offering(hostname)), false, false},
		{"AnotherOrderOfAddresses", ours(), less(offering(external, internal)), true, false},
		{"NoType", ours(), less(func(i *instance) { i.size = "" }), false, false},
		{"NoZone", ours(), less(func(i *instance) { i.zone = "" }), false, false},
		{"NoRegion", ours(), less(func(i *instance) { i.region = "" }), false, false},
		{"NodeHasNeitherTypeNorPlace", ours(func(n *corev1.Node) { n.Labels = map[string]string{"rack": "a"} }), less(func(i *instance) { i.size, i.zone, i.region = "", "", "" }), true, false},
		{"NodeThatWaits", fresh(), full, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, node: tt.node, answer: tt.answer, policy: follows}
			if got := confirms(o); got != tt.confirms {
				t.Errorf("confirms = %v, want %v", got, tt.confirms)
			}
			if got := differs(o); got != tt.differs && tt.node.Spec.ProviderID != "" {
				t.Errorf("differs = %v, want %v", got, tt.differs)
			}
		})
	}
}

// While answers are counted, a list does not confirm the Node, so that the cloud is asked.
func TestListConfirmsNothingWhileAnswersAreCounted(t *testing.T) {
	for name, m := range map[string]memory{"WithoutIP": {uid: "u1", withoutIP: 1}, "Absent": {uid: "u1", absences: 1}} {
		if confirms(observed{now: noon, node: settled(), answer: machine(), policy: follows, memory: m}) {
			t.Errorf("%s: the list confirms the Node", name)
		}
	}
}

// If a Node lacks only the condition that says that it is initialised, a list does not
// confirm the Node, so the cloud is asked. But the answer shows no difference from the
// cloud: only the condition has to be written.
func TestConditionIsNoNewsOfTheCloud(t *testing.T) {
	o := observed{now: noon, node: settled(), answer: machine(), policy: follows, always: true}
	if decide(o).condition == nil || confirms(o) || differs(o) {
		t.Errorf("condition %v, confirms = %v, differs = %v, want a condition and no difference", decide(o).condition, confirms(o), differs(o))
	}
}

func TestRoundsAreSpreadOverThePeriod(t *testing.T) {
	for _, tt := range []struct {
		name string
		did  share
		want time.Duration
	}{
		{"NoNodes", share{}, idle},
		{"OneNode", share{nodes: 1, all: 1}, 5 * time.Minute},
		{"EachNodeTakesItsShare", share{nodes: 1, all: 300}, time.Second},
		{"PageTakesTheShareOfItsNodes", share{nodes: 100, all: 300}, 100 * time.Second},
		{"LastPageIsShort", share{nodes: 1, all: 301}, 5 * time.Minute / 301},
		{"AnswerFromACacheCostsNothing", share{nodes: 1, all: 1, cached: true}, 0},
		{"PagesWithoutNodesTakeHalfAPeriodTogether", share{all: 20}, 5 * time.Minute / 2 / time.Duration(mostPages(20))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.did.pause(5 * time.Minute); got != tt.want {
				t.Errorf("pause %v, want %v", got, tt.want)
			}
		})
	}
	if got := (share{}).pause(time.Second); got != time.Second {
		t.Errorf("pause %v without Nodes, want the period if it is short", got)
	}
}

func TestWhatCostsNothing(t *testing.T) {
	for _, tt := range []struct {
		name     string
		took     time.Duration
		failures int
		want     bool
	}{
		{"FromACache", time.Millisecond, 0, true},
		{"OverTheNetwork", cachedWithin, 0, false},
		{"FailureIsFastToo", 0, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := costNothing(tt.took, tt.failures); got != tt.want {
				t.Errorf("costs nothing = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPeriodOfTheComparison(t *testing.T) {
	for _, tt := range []struct {
		name     string
		watched  watched
		compared time.Time
		want     time.Duration
	}{
		{"NoWatch", watched{}, noon, time.Minute},
		{"WatchWorksAndAllWereComparedSince", watched{true, noon}, noon, longer * time.Minute},
		{"NotComparedSince", watched{true, noon}, noon.Add(-1), time.Minute},
		{"NeverCompared", watched{true, noon}, time.Time{}, time.Minute},
		{"WatchFails", watched{false, noon}, noon.Add(time.Hour), time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := comparePeriod(time.Minute, tt.watched, tt.compared); got != tt.want {
				t.Errorf("period %v, want %v", got, tt.want)
			}
		})
	}
}

func TestChangeThatTheWatchHasMissed(t *testing.T) {
	works := watched{true, noon}
	for _, tt := range []struct {
		name            string
		watched         watched
		compared, named time.Time
		want            bool
	}{
		{"NotNamed", works, noon, time.Time{}, true},
		{"NamedLongAgo", works, noon, noon.Add(-time.Hour), true},
		{"JustNamed", works, noon, noon.Add(time.Hour - namedFor), false},
		{"ChangedBeforeTheWatchBegan", works, noon.Add(-1), time.Time{}, false},
		{"WatchFails", watched{false, noon}, noon, time.Time{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mayBeMissed(tt.watched, tt.compared, tt.named, noon.Add(time.Hour)); got != tt.want {
				t.Errorf("missed = %v, want %v", got, tt.want)
			}
		})
	}
}

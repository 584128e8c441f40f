package node

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// seen is what the world shows in one step: the answer of the cloud, and whether the kubelet
// reports.
type seen struct {
	answer answer
	ready  corev1.ConditionStatus
	// stripped means that somebody has removed the other conditions.
	stripped bool
}

// lives lets a world run through these steps, one after the other. It returns the reasons of the
// events and of the conditions that are written, each with the number of its step.
func lives(w *world, every time.Duration, steps []seen) (events, conditions map[string][]int) {
	events, conditions = map[string][]int{}, map[string][]int{}
	for n, s := range steps {
		w.node.Status.Conditions = slices.DeleteFunc(w.node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady || s.stripped })
		reporting(s.ready)(w.node)
		w.now = noon.Add(time.Duration(n) * every)
		p := w.step(s.answer, 2)
		for _, e := range p.events {
			events[e.Reason] = append(events[e.Reason], n)
		}
		if p.condition != nil {
			reason := string(p.condition.Status) + " " + p.condition.Reason
			conditions[reason] = append(conditions[reason], n)
		}
	}
	return events, conditions
}

// A Node reports while the cloud does not know its instance. This is shown once.
func TestInstanceThatTheCloudDoesNotKnow(t *testing.T) {
	reports := func(a answer) seen { return seen{answer: a, ready: corev1.ConditionTrue} }
	there, absent, denied, silence := reports(machine()), reports(refusing("InstanceNotFound")), reports(refusing("CloudDenied")), reports(answer{})
	silent, stripped := seen{answer: refusing("InstanceNotFound"), ready: corev1.ConditionUnknown}, seen{answer: refusing("InstanceNotFound"), ready: corev1.ConditionTrue, stripped: true}
	const shown, over = "True InstanceNotFound", "False InstanceFound"
	for _, tt := range []struct {
		name   string
		node   *corev1.Node
		every  time.Duration // 0: a minute
		steps  []seen
		events map[string][]int
		shown  map[string][]int
	}{
		{name: "MachineThatHasJustEnded", every: 10 * time.Second, steps: []seen{absent, absent, absent, absent, absent, silent, silent, silent, silent, silent, silent, silent, silent, silent}},
		{name: "OneAnswerIsNotEnough", steps: []seen{absent, there, absent, absent, there, there}},
		{
			name: "ShownOnceHoweverLongItLasts", steps: []seen{absent, silence, absent, denied, absent, absent, silence, absent, absent},
			events: map[string][]int{"CloudInstanceNotFound": {4}}, shown: map[string][]int{shown: {4}},
		},
		{
			name: "ConditionThatOthersRemoveComesBackWithoutAnEvent", steps: []seen{absent, absent, absent, stripped},
			events: map[string][]int{"CloudInstanceNotFound": {2}}, shown: map[string][]int{shown: {2, 3}},
		},
		{
			name: "EndIsShown", steps: []seen{absent, absent, absent, absent, there, there},
			events: map[string][]int{"CloudInstanceNotFound": {2}}, shown: map[string][]int{shown: {2}, over: {4}},
		},
		{name: "SilentNodeIsThatOfTheNodeLifecycle", steps: []seen{silent, silent, silent, silent}},
		{
			name: "NextProcessDoesNotRepeatIt", node: settled(missing(corev1.ConditionTrue)), steps: []seen{absent, absent, absent, absent, there},
			shown: map[string][]int{over: {4}},
		},
		{name: "NothingIsOverThatOtherFailuresHide", node: settled(missing(corev1.ConditionTrue)), steps: []seen{denied, silence}},
		{
			name: "SecondTimeIsShownAgain", node: settled(missing(corev1.ConditionFalse)), steps: []seen{absent, absent, absent},
			events: map[string][]int{"CloudInstanceNotFound": {2}}, shown: map[string][]int{shown: {2}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.every == 0 {
				tt.every = time.Minute
			}
			node := tt.node
			if node == nil {
				node = settled()
			}
			events, conditions := lives(&world{node: node, now: noon}, tt.every, tt.steps)
			if diff := cmp.Diff(tt.events, events, compare); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.shown, conditions, compare); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func missing(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: ConditionUnfound, Status: status, Reason: "InstanceNotFound"})
	}
}

// The last IP address goes only after three answers in a row without it, over at least a minute.
func TestLastIPAddressGoesLate(t *testing.T) {
	has, lacks := machine(), machine(offering(hostname))
	for _, tt := range []struct {
		name    string
		answers []answer
		every   time.Duration
		gone    int // the answer with which the address goes; 0: it stays
	}{
		{"ThreeAnswers", []answer{lacks, lacks, lacks, lacks}, 5 * time.Minute, 3},
		{"OneGoodAnswerBeginsAnew", []answer{lacks, lacks, has, lacks, lacks, has}, 5 * time.Minute, 0},
		{"FailuresDoNotCount", []answer{lacks, refusing("CloudDenied"), {}, lacks, refusing("CloudDenied"), lacks}, 5 * time.Minute, 6},
		{"NoAddressesAreNoAnswer", []answer{lacks, lacks, machine(offering()), lacks}, 5 * time.Minute, 0},
		{"ManyAnswersInAMoment", []answer{lacks, lacks, lacks, lacks, lacks}, time.Second, 0},
		{"ManyAnswersInAMinute", []answer{lacks, lacks, lacks, lacks, lacks}, 20 * time.Second, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{node: settled(), now: noon}
			gone, said := 0, 0
			for n, a := range tt.answers {
				w.now = noon.Add(time.Duration(n) * tt.every)
				p := w.step(a, 2)
				if gone == 0 && !slices.ContainsFunc(w.node.Status.Addresses, isIP) {
					gone = n + 1
				}
				said += len(p.events)
			}
			if gone != tt.gone {
				t.Errorf("gone with answer %d, want %d", gone, tt.gone)
			}
			if said == 0 || said > 2 {
				t.Errorf("%d events", said)
			}
		})
	}
}

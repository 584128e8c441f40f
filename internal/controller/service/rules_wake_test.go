package service

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func version(v string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.ResourceVersion = v }
}

func TestWakes(t *testing.T) {
	old := balanced(version("1"))
	for _, tt := range []struct {
		name   string
		change change
		want   priority
	}{
		{"NewServiceHasHighPriority", change{now: balanced()}, high},
		{"ServiceThatAnEarlierProcessProvidedHasLowPriority", change{now: balanced(finalized, addressed)}, low},
		{"ServiceThatIsBeingDeletedHasHighPriority", change{now: balanced(finalized, addressed, terminating)}, high},
		{"ServiceWithoutLoadBalancerIsNotWoken", change{now: balanced(internal)}, noPass},
		{"ServiceThatStillHasOurFinalizerIsWoken", change{now: balanced(internal, finalized)}, high},
		{"ServiceThatStillHasOurConditionsIsWoken", change{now: balanced(internal, conditioned)}, high},
		{"ServiceOfAnotherClassIsNotWoken", change{now: balanced(held, class("theirs"))}, noPass},
		{"ServiceThatIsHeldIsWoken", change{now: balanced(held, madeAs("theirs"))}, high},
		{"ServiceOfAnotherClassThatIsRememberedIsWoken", change{now: balanced(class("theirs")), memory: known(old)}, high},
		{"ChangedServiceHasHighPriority", change{before: old, now: balanced(addressed, version("2"))}, high},
		{"ServiceThatIsListedAgainIsNotWoken", change{before: old, now: balanced(version("1"))}, noPass},
		{"ServiceThatLeavesHasHighPriority", change{before: old, now: balanced(internal, version("2"))}, high},
		{"ServiceThatComesBackHasHighPriority", change{before: balanced(internal, version("1")), now: balanced(version("2"))}, high},
		{"ServiceThatIsGoneHasHighPriority", change{}, high},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := policy.wakes(tt.change); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// variants are groups of edits of a Service. The edits of one group differ only in one
// field that the function decide reads.
var variants = [][]func(*corev1.Service){
	{same, replaced},
	{same, internal},
	{same, class("ours"), class("theirs")},
	{same, terminating},
	{same, finalized},
	{same, addressed},
	{same, conditioned, halfConditioned},
	{same, edited},
	{same, func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }},
}

func same(*corev1.Service) {}

func halfConditioned(s *corev1.Service) {
	conditioned(s)
	s.Status.Conditions = s.Status.Conditions[:1]
}

// memoriesOf returns the memories that a process can have when it sees the Service.
func memoriesOf(s *corev1.Service) []memory {
	first := balanced()
	return []memory{
		{},
		{uid: s.UID},
		known(first),
		known(s),
		known(first, func(m *memory) { m.backends = "old" }),
		known(first, func(m *memory) { m.deleted, m.shape, m.status = true, "", nil }),
		known(first, func(m *memory) { m.elsewhere = true }),
		known(first, hasFailed(ensure, first, time.Second)),
		known(first, hasFailed(remove, first, time.Second)),
		memory{uid: s.UID}.with(hasFailed(ensure, first, time.Second)),
	}
}

// each calls f with every Service that results from one edit of each group.
func each(f func(*corev1.Service)) {
	var walk func(s *corev1.Service, rest [][]func(*corev1.Service))
	walk = func(s *corev1.Service, rest [][]func(*corev1.Service)) {
		if len(rest) == 0 {
			f(s)
			return
		}
		for _, edit := range rest[0] {
			c := s.DeepCopy()
			edit(c)
			walk(c, rest[1:])
		}
	}
	walk(balanced(version("1")), variants)
}

// effect returns the effect of a pass that has observed o. If the pass only forgets an
// empty memory, the effect is "nothing".
func effect(o observed) string {
	p := decide(o)
	if o.memory.isEmpty() && (p.do == forget || p.do == doNothing) {
		return "nothing"
	}
	return digest(p)
}

// TestWhateverChangesThePlanWakes compares all pairs of Services that differ in one
// field, for each memory that a process can have. If the plans differ, the change must
// cause a pass.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	pairs, differ := 0, 0
	compare := func(before, now *corev1.Service, m memory) {
		foreign := policy.foreignAfter("", before)
		o := observed{now: noon, backends: "set", hosts: 1, memory: m, policy: policy}
		o.service, o.foreign = before, before != nil && foreign == before.UID
		was := effect(o)
		o.service, o.foreign = now, false
		if now != nil {
			o.foreign = policy.foreignAfter(foreign, now) == now.UID
		}
		is := effect(o)
		pairs++
		if was == is {
			return
		}
		differ++
		if policy.wakes(change{before: before, now: now, memory: m}) == noPass {
			t.Errorf("not woken, although the plan changes:\n%s\n%s\n%+v, %+v", was, is, before, now)
		}
	}
	each(func(before *corev1.Service) {
		if t.Failed() {
			return
		}
		for _, m := range memoriesOf(before) {
			compare(before, nil, m)
			for _, group := range variants {
				for _, edit := range group[1:] {
					now := before.DeepCopy()
					edit(now)
					now.ResourceVersion = "2"
					compare(before, now, m)
					undone := before.DeepCopy()
					undone.ResourceVersion = "3"
					compare(now, undone, m)
				}
			}
		}
	})
	if differ < 1000 {
		t.Errorf("only %d of %d pairs differ", differ, pairs)
	}
}

// TestWhateverNodesChangeThePlanWakes checks the same for changes of the set of Nodes.
func TestWhateverNodesChangeThePlanWakes(t *testing.T) {
	differ := 0
	each(func(s *corev1.Service) {
		for _, m := range memoriesOf(s) {
			o := observed{now: noon, service: s, backends: "set", hosts: 1, memory: m, policy: policy}
			o.foreign = policy.foreignAfter("", s) == s.UID
			was := effect(o)
			o.backends, o.hosts = "empty", 0
			if was == effect(o) {
				continue
			}
			differ++
			if !policy.concerns(s) {
				t.Fatalf("not woken, although the plan changes: %s\n%+v", was, s)
			}
		}
	})
	if differ < 50 {
		t.Errorf("only %d plans differ", differ)
	}
}

// TestWhateverChangesTheSetInvalidatesIt compares all pairs of Nodes that differ in one
// field, for each policy. If the sets differ, invalidates must report that the change
// needs a new set. The only exceptions are changes of two fields, which a policy can
// let wait.
func TestWhateverChangesTheSetInvalidatesIt(t *testing.T) {
	fields := []struct {
		name string
		edit func(*corev1.Node)
		// waits reports whether the policy lets the change wait for the next
		// change of another kind.
		waits func(BackendPolicy) bool
	}{
		{name: "uid", edit: func(n *corev1.Node) { n.UID = types.UID("other") }},
		{name: "providerID", edit: func(n *corev1.Node) { n.Spec.ProviderID = "p://other" }},
		{name: "label", edit: labelled("")},
		{name: "label that says false", edit: labelled("false")},
		{name: "owner", edit: func(n *corev1.Node) { n.Labels = map[string]string{ownership.LabelProvider: "another"} }},
		{name: "uninitialized", edit: tainted(api.TaintExternalCloudProvider)},
		{name: "shutdown", edit: tainted(api.TaintNodeShutdown)},
		{name: "condition", edit: ending(corev1.ConditionTrue)},
		{name: "unschedulable", edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		{name: "autoscaler", edit: tainted(nodefact.TaintToBeDeleted), waits: func(b BackendPolicy) bool { return !b.WakeOnTaint }},
		{name: "deletion", edit: func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }, waits: func(b BackendPolicy) bool { return !b.WakeOnDeletion }},
	}
	differ := 0
	for bits := range 16 {
		b := BackendPolicy{SkipUninitialized: bits&1 > 0, WakeOnTaint: bits&2 > 0, WakeOnDeletion: bits&4 > 0, OwnOnly: bits&8 > 0, LeaveOn: []corev1.NodeConditionType{"Terminating"}}
		id := func(n *corev1.Node) string {
			if n == nil {
				return membershipOf(b).set.id
			}
			return membershipOf(b, n).set.id
		}
		for mask := range 1 << len(fields) {
			before := host("a")
			for i, field := range fields {
				if mask&(1<<i) > 0 {
					field.edit(before)
				}
			}
			for i, field := range fields {
				now := before.DeepCopy()
				field.edit(now)
				if mask&(1<<i) > 0 || id(before) == id(now) || field.waits != nil && field.waits(b) {
					if b.isBackend(before) && !b.isBackend(now) && !b.invalidates(now, before) {
						t.Errorf("%+v: a Node that may be a backend again waits: %+v", b, before)
					}
					continue
				}
				differ++
				if !b.invalidates(before, now) || !b.invalidates(now, before) {
					t.Errorf("%+v: %s does not make another set of %+v", b, field.name, before)
				}
			}
			if id(before) != id(nil) && (!b.invalidates(nil, before) || !b.invalidates(before, nil)) {
				t.Errorf("%+v: a Node that joins or leaves does not make another set: %+v", b, before)
			}
		}
	}
	if differ < 100 {
		t.Error(fmt.Sprint("only ", differ, " sets differ"))
	}
}

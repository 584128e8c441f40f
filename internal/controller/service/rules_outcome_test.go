package service

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// knowledge returns the memory and the events after a call as one line of text.
func knowledge(m memory, events []message.Event) string {
	var parts []string
	add := func(what string, holds bool) {
		if holds {
			parts = append(parts, what)
		}
	}
	add("in line", m.shape == shapeOf(balanced()))
	add("shape unknown", m.shape == "")
	add("nodes "+m.backends, m.backends != "")
	add("elsewhere", m.elsewhere)
	add("deleted", m.deleted)
	add("uncertain", m.uncertain)
	add("status unknown", m.status == nil)
	if m.status != nil && len(m.status.Ingress) > 0 && m.status.Ingress[0].IP != address[0].IP {
		add("address "+m.status.Ingress[0].IP, true)
	}
	add("published", m.published)
	add("contested", m.contested)
	add("accepted", m.accepted)
	if f := m.failure; f.attempts > 0 {
		parts = append(parts, string(f.during)+" failed with "+f.cause.Reason+", retry in "+f.until.Sub(noon).String())
	}
	add("offered "+m.offered, m.offered != "")
	add("recorded "+strings.Join(slices.Sorted(maps.Keys(m.recorded)), ", "), len(m.recorded) > 0)
	add("announced", m.announced != "")
	for _, e := range events {
		parts = append(parts, "event "+e.Reason)
	}
	return strings.Join(parts, " | ")
}

func TestOutcome(t *testing.T) {
	ready := balanced()
	other := []corev1.LoadBalancerIngress{{IP: "127.64.0.2"}}
	given := func(ingress ...corev1.LoadBalancerIngress) func(*plan, *outcome) {
		return func(p *plan, _ *outcome) {
			p.service = p.service.DeepCopy()
			p.service.Status.LoadBalancer.Ingress = ingress
		}
	}
	returns := func(ingress ...corev1.LoadBalancerIngress) func(*plan, *outcome) {
		return func(_ *plan, r *outcome) { r.status = &corev1.LoadBalancerStatus{Ingress: ingress} }
	}
	inLine := known(ready, func(m *memory) { m.backends = "old" })
	hadFailed := memory{uid: "u1", recorded: showing.News{"CloudFailed": noon}}.with(hasFailed(ensure, ready, 5*time.Second))
	ensureFails := inLine.with(hasFailed(ensure, ready, 2*time.Second))
	offeredInVain := ensureFails.with(func(m *memory) {
		m.offered, m.recorded = "new", showing.News{"CloudFailed update": noon.Add(-time.Minute)}
	})
	fromBefore := memory{uid: "u1"}.with(hasFailed(ensure, ready, 2*time.Second))
	noNodes := func(_ *plan, r *outcome) { r.nodes.nodes = nil }
	routine := func(p *plan, _ *outcome) { p.routine = true }
	unmade := func(_ *plan, r *outcome) { r.unmade = true }
	for _, tt := range []struct {
		name   string
		do     action
		memory memory
		result result
		edits  []func(*plan, *outcome)
		want   string
	}{
		{"EnsuredServiceIsInLine", ensure, memory{uid: "u1"}, succeeded, nil, "in line | nodes new | event EnsuredLoadBalancer"},
		{"SuccessForgetsTheFailure", ensure, hadFailed, succeeded, nil, "in line | nodes new | event EnsuredLoadBalancer"},
		{"RoutineSuccessIsNotRecorded", ensure, inLine, succeeded, tweaks(routine), "in line | nodes new | published"},
		{"LoadBalancerWithoutNodesIsRecorded", ensure, inLine, succeeded, tweaks(noNodes), "in line | nodes new | published | event EnsuredLoadBalancer | event UnAvailableLoadBalancer"},
		{"LoadBalancerWithoutNodesIsRecordedAfterAResync", ensure, inLine, succeeded, tweaks(noNodes, routine), "in line | nodes new | published | event UnAvailableLoadBalancer"},
		{"LoadBalancerWithoutNodesIsNotRecordedByTheFirstCheckOfAProcess", ensure, memory{uid: "u1"}, succeeded, tweaks(noNodes, routine), "in line | nodes new"},
		{
			"LoadBalancerWithoutNodesIsNotRecordedTwiceForOneSet", ensure, known(ready, func(m *memory) { m.backends = "new" }), succeeded, tweaks(noNodes),
			"in line | nodes new | published | event EnsuredLoadBalancer",
		},
		{"AddressThatTheProviderChangesIsNotPublishedYet", ensure, inLine, succeeded, tweaks(given(address...), returns(other...)), "in line | nodes new | address 127.64.0.2 | event EnsuredLoadBalancer"},
		{"AddressThatTheProviderClearsIsNotPublishedYet", ensure, inLine, succeeded, tweaks(given(address...), returns()), "in line | nodes new | event EnsuredLoadBalancer"},
		{"EchoOfNoAddressIsNoNews", ensure, memory{uid: "u1"}, succeeded, tweaks(given(), returns()), "in line | nodes new | published | event EnsuredLoadBalancer"},
		{"EchoOfAnotherAddressIsAccepted", ensure, inLine, succeeded, tweaks(given(other...), returns(other...)), "in line | nodes new | address 127.64.0.2 | published | accepted | event EnsuredLoadBalancer"},
		{"AddressThatTheProviderStandsByIsPutBack", ensure, inLine, succeeded, tweaks(given(other...)), "in line | nodes new | contested | event EnsuredLoadBalancer"},
		{
			"ChangedAddressIsNotPutBackAgainWithinThePause", ensure, inLine.with(func(m *memory) { m.repairedAt = noon.Add(time.Second - showing.PutBackAfter) }), succeeded, tweaks(given(other...)),
			"in line | nodes new | published | event EnsuredLoadBalancer",
		},
		{
			"AddressThatWasNeverShownIsNotContested", ensure, inLine.with(func(m *memory) { m.published = false }), succeeded, tweaks(given(other...)),
			"in line | nodes new | event EnsuredLoadBalancer",
		},
		{"EnsureElsewhereIsLeftAlone", ensure, hadFailed, elsewhere, nil, "in line | elsewhere | status unknown"},
		{"FailedEnsureIsUncertain", ensure, memory{uid: "u1"}, failed, nil, "shape unknown | uncertain | status unknown | ensure failed with CloudFailed, retry in 5s"},
		{"FailedEnsureKeepsTheAddress", ensure, inLine, failed, nil, "in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 5s"},
		{"DelayGrowsWithEachFailure", ensure, hadFailed, failed, nil, "shape unknown | uncertain | status unknown | ensure failed with CloudFailed, retry in 10s | recorded CloudFailed"},
		{
			"DelayIsTheProvidersOwnIfItAsks", ensure, hadFailed, failed, tweaks(func(_ *plan, r *outcome) { r.pause = 3 * time.Second }),
			"shape unknown | uncertain | status unknown | ensure failed with CloudFailed, retry in 3s | recorded CloudFailed",
		},
		{"UpdatedLoadBalancerHasTheNodes", update, inLine, succeeded, nil, "in line | nodes new | published | event UpdatedLoadBalancer"},
		{"UpdateToNoNodesIsRecorded", update, inLine, succeeded, tweaks(noNodes), "in line | nodes new | published | event UnAvailableLoadBalancer"},
		{"UpdateElsewhereIsDone", update, inLine, elsewhere, nil, "in line | nodes new | published"},
		{
			"FailedUpdateIsEnsuredNext", update, inLine, failed, nil,
			"in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 5s | offered new | recorded CloudFailed, CloudFailed update | announced | event UpdateLoadBalancerFailed",
		},
		{
			"UpdateWhileEnsureFailsLeavesTheFailure", update, ensureFails, succeeded, nil,
			"in line | nodes new | uncertain | published | ensure failed with CloudFailed, retry in 3s | event UpdatedLoadBalancer",
		},
		{
			"FirstUpdateOfAProcessIsNotRecorded", update, fromBefore, succeeded, nil,
			"shape unknown | nodes new | uncertain | status unknown | ensure failed with CloudFailed, retry in 3s",
		},
		{
			"FailedUpdateWhileEnsureFailsDelaysNothing", update, ensureFails, failed, nil,
			"in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 3s | offered new | recorded CloudFailed update | event UpdateLoadBalancerFailed",
		},
		{
			"FailedUpdateWhileEnsureFailsIsRecordedOnce", update, offeredInVain, failed, nil,
			"in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 3s | offered new | recorded CloudFailed update",
		},
		{
			"SetIsOfferedAgainAfterEnsureHasFailedAgain", ensure, offeredInVain, failed, nil,
			"in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 10s | recorded CloudFailed update",
		},
		{"EnsureThatWasNotMadeIsOnlyDelayed", ensure, inLine, failed, tweaks(unmade), "in line | nodes old | published | ensure failed with CloudFailed, retry in 5s"},
		{"UpdateThatWasNotMadeIsOnlyDelayed", update, inLine, failed, tweaks(unmade), "in line | nodes old | published | ensure failed with CloudFailed, retry in 5s"},
		{
			"UpdateThatWasNotMadeWhileEnsureFails", update, ensureFails, failed, tweaks(unmade),
			"in line | nodes unknown | uncertain | published | ensure failed with CloudFailed, retry in 3s | offered new | recorded CloudFailed update | event UpdateLoadBalancerFailed",
		},
		{"RemovedLoadBalancerIsForgotten", remove, inLine, succeeded, nil, "shape unknown | nodes old | deleted | status unknown | event DeletedLoadBalancer"},
		{"RemovedElsewhereIsRemoved", remove, inLine, elsewhere, nil, "shape unknown | nodes old | deleted | status unknown | event DeletedLoadBalancer"},
		{"FailedRemovalIsUncertain", remove, inLine, failed, nil, "in line | nodes old | uncertain | published | remove failed with CloudFailed, retry in 5s"},
		{
			"FailedRemovalKeepsTheAddressThatItWasMadeFor", remove, inLine, failed, tweaks(given(other...)),
			"in line | nodes old | uncertain | address 127.64.0.2 | published | remove failed with CloudFailed, retry in 5s",
		},
		{"RemovalStartsItsOwnDelay", remove, hadFailed, failed, nil, "shape unknown | uncertain | status unknown | remove failed with CloudFailed, retry in 5s | recorded CloudFailed"},
		{"NoCallChangesNothing", publish, inLine, succeeded, nil, "in line | nodes old | published"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plan{do: tt.do, service: ready, memory: tt.memory}
			if tt.memory.published {
				given(address...)(&p, nil)
			}
			r := outcome{
				result: tt.result, at: noon, nodes: nodeSet{id: "new", nodes: []*corev1.Node{host("a")}},
				status: &corev1.LoadBalancerStatus{Ingress: address}, cause: reasonCloudFailed.Cause("because"), text: "no",
			}
			for _, edit := range tt.edits {
				edit(&p, &r)
			}
			m, events := conclude(p, r)
			if got := knowledge(m, events); got != tt.want {
				t.Errorf("known\n got %s\nwant %s", got, tt.want)
			}
			if tt.do.isCall() && m.service != p.service {
				t.Error("the Service of the call is not remembered")
			}
			if tt.do == ensure && tt.result == succeeded && !m.ensuredAt.Equal(noon) {
				t.Errorf("ensured at %v, want the time of the call", m.ensuredAt)
			}
		})
	}
}

func tweaks(all ...func(*plan, *outcome)) []func(*plan, *outcome) { return all }

func TestWhetherSomebodyElseProvides(t *testing.T) {
	for _, tt := range []struct {
		name        string
		do          action
		result      result
		memory      memory
		is, isKnown bool
	}{
		{"ProviderSaysSo", ensure, elsewhere, memory{}, true, true},
		{"ProviderProvides", ensure, succeeded, memory{elsewhere: true}, false, true},
		{"FailureTellsNothing", ensure, failed, memory{}, false, false},
		{"FailureDoesNotChangeWhoProvides", ensure, failed, memory{elsewhere: true}, true, true},
		{"UpdateTellsNothing", update, succeeded, memory{}, false, false},
		{"RemovalTellsNothing", remove, succeeded, memory{}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r := plan{do: tt.do, service: balanced(), memory: tt.memory}, outcome{result: tt.result, status: &corev1.LoadBalancerStatus{}}
			m, _ := conclude(p, r)
			if is, known := providedElsewhere(p, r, m); is != tt.is || known != tt.isKnown {
				t.Errorf("elsewhere %v, known %v, want %v, %v", is, known, tt.is, tt.isKnown)
			}
		})
	}
}

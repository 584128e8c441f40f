package node

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// A step gives the reason of a plan, and lists what the plan changes on the Node.
func TestStepOfAPlan(t *testing.T) {
	n := &corev1.Node{}
	n.Name = "n"
	n.Labels = map[string]string{corev1.LabelInstanceTypeStable: "small", "rack": "a"}
	n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}}
	released := writes{
		addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: "n"}},
		change: change{
			providerID: "p://1", taints: &[]corev1.Taint{},
			labels: map[string]*string{corev1.LabelInstanceTypeStable: new("large"), "rack": nil, "row": new("b")},
		},
		events: []message.Event{hasSynced()},
	}
	condition := &corev1.NodeCondition{Type: ConditionInitialized, Status: corev1.ConditionFalse, Reason: "InstanceNotFound"}
	failed := observed{node: n, answer: answer{given: refused, cause: message.Cause{Reason: "CloudThrottled", Message: "the quota is used up"}}}
	for _, tt := range []struct {
		name string
		o    observed
		p    plan
		want step.Step
	}{
		{"ReleaseShowsEachDifference", observed{node: n}, plan{do: release, why: "w", writes: released}, step.Step{
			Effect: step.Create, Do: "release", Why: "w", Writes: []string{
				"addresses: Hostname n -> InternalIP 10.0.0.1, Hostname n",
				"provider ID: p://1",
				`label node.kubernetes.io/instance-type: "small" -> "large"`,
				"label rack removed",
				`label row: "b"`,
				"taint node.cloudprovider.kubernetes.io/uninitialized:NoSchedule removed",
				"event Normal Synced",
			},
		}},
		{"WaitNamesTheReason", observed{node: n}, plan{do: wait, why: "w", writes: writes{condition: condition}, memory: memory{waitsFor: "InstanceNotFound"}}, step.Step{
			Effect: step.Wait, Do: "wait", Reason: "InstanceNotFound", Why: "w", Writes: []string{"condition CloudInitialized=False (InstanceNotFound)"},
		}},
		{"UpdateChanges", observed{node: n}, plan{do: update, why: "w"}, step.Step{Effect: step.Update, Do: "update", Why: "w"}},
		{"NodeThatIsUpToDateStays", observed{node: n}, plan{do: doNothing, why: "w"}, step.Step{Effect: step.None, Do: "nothing", Why: "w"}},
		{"EventAloneIsAWrite", observed{node: n}, plan{do: doNothing, why: "w", writes: writes{events: []message.Event{hasSynced()}}}, step.Step{
			Effect: step.Update, Do: "nothing", Why: "w", Writes: []string{"event Normal Synced"},
		}},
		{"NodeThatTheCloudDidNotDescribeIsNotUpToDate", failed, plan{do: doNothing, why: "up to date"}, step.Step{
			Effect: step.Wait, Do: "nothing", Reason: "CloudThrottled", Why: "the quota is used up",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Object = "node/n"
			if diff := cmp.Diff(tt.want, tt.p.step(tt.o)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// A second plan says the same as the first one, because the first one was not carried
// out.
func TestMemoryOfAPlanThatWasNotCarriedOut(t *testing.T) {
	m := memory{uid: "u", vain: 2, recorded: "InstanceNotFound", notices: "n", said: "s", missing: map[string]int{"rack": 1}}
	want := memory{uid: "u", vain: 2, missing: map[string]int{"rack": 1}}
	if diff := cmp.Diff(want, m.untold(), cmp.AllowUnexported(memory{}, allowance.Allowance{})); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}

// Plan asks about an initialised Node once in each period of the refresh, however often
// the Node changes. If the Node waits, Plan asks each time.
func TestPlanAsksAsOftenAsTheRefresh(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits bool
		calls int
	}{
		{"InitialisedNode", false, 2},
		{"NodeThatWaits", true, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			informer := kube.NewInformerFactory(fake.NewClientset(), 0, nil).Core().V1().Nodes()
			server, asked, now := &changing{node: fresh()}, &describing{}, clocktesting.NewFakeClock(noon)
			if !tt.waits {
				server.node.Spec.Taints, server.node.Spec.ProviderID = nil, "p://1"
			}
			c := New(Deps{Nodes: server, Informer: informer, Instances: asked, Events: &life{t: t}}, Config{Clock: now, Refresh: 5 * time.Minute})
			for n := range 4 {
				server.node = server.node.DeepCopy()
				server.node.Labels = map[string]string{"changes": strconv.Itoa(n)}
				if steps, err := c.Plan(t.Context(), "n1"); err != nil || len(steps) != 1 {
					t.Fatalf("Plan = %+v, %v", steps, err)
				}
				now.Step(2 * time.Minute)
			}
			if asked.calls != tt.calls {
				t.Errorf("%d calls of the cloud for 4 looks in 6 minutes, want %d", asked.calls, tt.calls)
			}
		})
	}
}

package demo

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asItShouldBe is a showing of one instance in which all went well.
func asItShouldBe() facts {
	return facts{
		instances: []simulator.Instance{{
			ID: "i-1", Name: "node-1", Zone: "sim-1a", Region: "sim-1", Type: "small",
			Addresses: []simulator.Address{
				{Type: simulator.InternalIP, Address: "127.0.1.1"}, {Type: simulator.ExternalIP, Address: "203.0.113.1"},
			},
		}},
		waited:         1,
		pendingBecause: "0/1 nodes are available",
		nodes: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{
				corev1.LabelTopologyZone:       "sim-1a",
				corev1.LabelTopologyRegion:     "sim-1",
				corev1.LabelInstanceTypeStable: "small",
			}},
			Spec: corev1.NodeSpec{ProviderID: "simulated://sim-1/i-1"},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "127.0.1.1"},
				{Type: corev1.NodeExternalIP, Address: "203.0.113.1"},
				{Type: corev1.NodeHostName, Address: "node-1"},
			}},
		}},
		pod: corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "hello-1"},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		},
	}
}

func TestChecks(t *testing.T) {
	for name, test := range map[string]struct {
		but  func(*facts)
		want []string
	}{
		"AllIsWell":        {func(*facts) {}, nil},
		"NodeIsMissing":    {func(f *facts) { f.nodes = nil }, []string{"node-1: zone: , want sim-1a", "node-1: region: , want sim-1", "node-1: type: , want small", "node-1: provider ID: , want simulated://sim-1/i-1", "node-1: addresses: , want InternalIP 127.0.1.1, ExternalIP 203.0.113.1"}},
		"NodeDidNotWait":   {func(f *facts) { f.waited = 0 }, []string{"nodes that registered and waited: 0, want 1"}},
		"PodDidNotWait":    {func(f *facts) { f.pendingBecause = "" }, []string{"the pod was Pending before: nothing was seen of it"}},
		"PodStillWaits":    {func(f *facts) { f.pod.Status.Phase = corev1.PodPending }, []string{"the pod is: Pending, want Running"}},
		"PodHasNoNode":     {func(f *facts) { f.pod.Spec.NodeName = "" }, []string{"the pod has a node: nothing was seen of it"}},
		"TaintIsThere":     {func(f *facts) { f.nodes[0].Spec.Taints = []corev1.Taint{{Key: uninitialized}} }, []string{"node-1: taint: still there, want gone"}},
		"OtherTaintIsNot":  {func(f *facts) { f.nodes[0].Spec.Taints = []corev1.Taint{{Key: "other"}} }, nil},
		"OtherZone":        {func(f *facts) { f.nodes[0].Labels[corev1.LabelTopologyZone] = "sim-1b" }, []string{"node-1: zone: sim-1b, want sim-1a"}},
		"OtherProviderID":  {func(f *facts) { f.nodes[0].Spec.ProviderID = "simulated://sim-1/i-2" }, []string{"node-1: provider ID: simulated://sim-1/i-2, want simulated://sim-1/i-1"}},
		"AddressIsMissing": {func(f *facts) { f.nodes[0].Status.Addresses = f.nodes[0].Status.Addresses[:1] }, []string{"node-1: addresses: InternalIP 127.0.1.1, want InternalIP 127.0.1.1, ExternalIP 203.0.113.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := asItShouldBe()
			test.but(&f)
			var problems []string
			for _, c := range f.checks() {
				if c.problem != "" {
					problems = append(problems, c.what+": "+c.problem)
				}
			}
			if diff := cmp.Diff(test.want, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTable(t *testing.T) {
	want := `NODE     ZONE     TYPE    PROVIDER ID             ADDRESSES                                      TAINT
node-1   sim-1a   small   simulated://sim-1/i-1   InternalIP 127.0.1.1, ExternalIP 203.0.113.1   gone

POD       PHASE     NODE     BEFORE
hello-1   Running   node-1   Pending: 0/1 nodes are available
`
	if diff := cmp.Diff(want, asItShouldBe().table()); diff != "" {
		t.Error(diff)
	}
}

func TestUnscheduled(t *testing.T) {
	condition := func(status corev1.ConditionStatus, message string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: status, Message: message},
		}}}
	}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"NotTriedYet":         {corev1.Pod{}, ""},
		"Scheduled":           {condition(corev1.ConditionTrue, ""), ""},
		"NoNode":              {condition(corev1.ConditionFalse, "0/3 nodes are available."), "0/3 nodes are available"},
		"PreemptionIsLeftOut": {condition(corev1.ConditionFalse, "no nodes. preemption: no help."), "no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, unscheduled(test.pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

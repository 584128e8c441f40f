package demo

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// asItShouldBe returns the facts of a demo with two instances in which everything
// went well.
func asItShouldBe() facts {
	f := facts{
		waited:         2,
		pendingBecause: "0/2 nodes are available",
		pod: corev1.Pod{
			Spec:   corev1.PodSpec{NodeName: "node-1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		},
		service: corev1.Service{Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "127.64.1.1"}}},
			Conditions:   []metav1.Condition{{Type: serving, Status: metav1.ConditionTrue}},
		}},
		balancers: []simulator.LoadBalancer{{
			Address: "127.64.1.1",
			Traffic: &simulator.Traffic{
				Listeners: []simulator.ListenerTraffic{{Address: "127.64.1.1:80"}},
				Backends:  []simulator.BackendTraffic{{Health: simulator.BackendHealthy}, {Health: simulator.BackendHealthy}},
			},
		}},
	}
	for n := 1; n <= 2; n++ {
		name, id := fmt.Sprintf("node-%d", n), fmt.Sprintf("i-%d", n)
		cidr := fmt.Sprintf("10.244.%d.0/24", n)
		internal, external := fmt.Sprintf("127.0.1.%d", n), fmt.Sprintf("203.0.113.%d", n)
		f.instances = append(f.instances, simulator.Instance{
			ID: id, Name: name, Zone: "sim-1a", Region: "sim-1", Type: "small",
			Addresses: []simulator.Address{{Type: simulator.InternalIP, Address: internal}, {Type: simulator.ExternalIP, Address: external}},
		})
		f.nodes = append(f.nodes, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelTopologyZone:       "sim-1a",
				corev1.LabelTopologyRegion:     "sim-1",
				corev1.LabelInstanceTypeStable: "small",
			}},
			Spec: corev1.NodeSpec{ProviderID: "simulated://sim-1/" + id, PodCIDR: cidr},
			Status: corev1.NodeStatus{
				Addresses: []corev1.NodeAddress{
					{Type: corev1.NodeInternalIP, Address: internal},
					{Type: corev1.NodeExternalIP, Address: external},
					{Type: corev1.NodeHostName, Address: name},
				},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse}},
			},
		})
		f.routes = append(f.routes, simulator.Route{Destination: cidr, Target: id, State: simulator.RouteActive})
		f.replies = append(f.replies, reply{"http://127.64.1.1/", fmt.Sprintf("hello from %s (Service default/web, port 80)", name)})
	}
	return f
}

func TestChecks(t *testing.T) {
	const greetings = `want one of ["hello from node-1 (Service default/web, port 80)" "hello from node-2 (Service default/web, port 80)"]`
	for name, test := range map[string]struct {
		but  func(*facts)
		want []string
	}{
		"AllIsWell":        {func(*facts) {}, nil},
		"NodeIsMissing":    {func(f *facts) { f.nodes = f.nodes[1:] }, []string{"node-1: zone: , want sim-1a", "node-1: region: , want sim-1", "node-1: type: , want small", "node-1: provider ID: , want simulated://sim-1/i-1", "node-1: addresses: , want InternalIP 127.0.1.1, ExternalIP 203.0.113.1", "node-1: pod CIDR: missing", "node-1: route: 10.244.1.0/24, want ", "node-1: NetworkUnavailable: , want False"}},
		"NodeDidNotWait":   {func(f *facts) { f.waited = 1 }, []string{"nodes that registered and waited: 1, want 2"}},
		"PodDidNotWait":    {func(f *facts) { f.pendingBecause = "" }, []string{"the pod was Pending before: missing"}},
		"PodStillWaits":    {func(f *facts) { f.pod.Status.Phase = corev1.PodPending }, []string{"the pod is: Pending, want Running"}},
		"PodHasNoNode":     {func(f *facts) { f.pod.Spec.NodeName = "" }, []string{"the pod has a node: missing"}},
		"TaintIsThere":     {func(f *facts) { f.nodes[0].Spec.Taints = []corev1.Taint{{Key: uninitialized}} }, []string{"node-1: taint: still there, want gone"}},
		"OtherTaintIsNot":  {func(f *facts) { f.nodes[0].Spec.Taints = []corev1.Taint{{Key: "other"}} }, nil},
		"OtherZone":        {func(f *facts) { f.nodes[0].Labels[corev1.LabelTopologyZone] = "sim-1b" }, []string{"node-1: zone: sim-1b, want sim-1a"}},
		"OtherProviderID":  {func(f *facts) { f.nodes[0].Spec.ProviderID = "simulated://sim-1/i-2" }, []string{"node-1: provider ID: simulated://sim-1/i-2, want simulated://sim-1/i-1"}},
		"AddressIsMissing": {func(f *facts) { f.nodes[0].Status.Addresses = f.nodes[0].Status.Addresses[:1] }, []string{"node-1: addresses: InternalIP 127.0.1.1, want InternalIP 127.0.1.1, ExternalIP 203.0.113.1"}},

		"RouteIsMissing":     {func(f *facts) { f.routes = f.routes[1:] }, []string{"routes in the cloud: 1, want 2", "node-1: route: , want 10.244.1.0/24"}},
		"RouteLeadsNowhere":  {func(f *facts) { f.routes[0].State = simulator.RouteBlackhole }, []string{"node-1: route: , want 10.244.1.0/24"}},
		"RouteLeadsAstray":   {func(f *facts) { f.routes[0].Target = "i-2" }, []string{"node-1: route: , want 10.244.1.0/24", "node-2: route: 10.244.1.0/24, 10.244.2.0/24, want 10.244.2.0/24"}},
		"NodeHasNoPodCIDR":   {func(f *facts) { f.nodes[0].Spec.PodCIDR = "" }, []string{"node-1: pod CIDR: missing", "node-1: route: 10.244.1.0/24, want "}},
		"NetworkUnavailable": {func(f *facts) { f.nodes[0].Status.Conditions[0].Status = corev1.ConditionTrue }, []string{"node-1: NetworkUnavailable: True, want False"}},

		"NoLoadBalancer": {func(f *facts) { f.balancers = nil }, []string{"load balancers in the cloud: 0, want 1", "healthy backends: 0, want 2"}},
		"ASecondLoadBalancer": {func(f *facts) {
			f.balancers = append(f.balancers, simulator.LoadBalancer{Address: "127.64.1.2"})
		}, []string{"load balancers in the cloud: 2, want 1", "the Service's address: 127.64.1.1, want 127.64.1.2"}},
		"BackendIsNotHealthy": {func(f *facts) { f.balancers[0].Traffic.Backends[0].Health = simulator.BackendChecking }, []string{"healthy backends: 1, want 2"}},
		"ServiceHasNoAddress": {func(f *facts) { f.service.Status.LoadBalancer.Ingress = nil }, []string{"the Service's address: , want 127.64.1.1"}},
		"ServiceDoesNotServe": {func(f *facts) { f.service.Status.Conditions[0].Status = metav1.ConditionFalse }, []string{"the Service's condition LoadBalancerServing: False, want True"}},
		"ServiceDoesNotSay":   {func(f *facts) { f.service.Status.Conditions[0].Type = "Other" }, []string{"the Service's condition LoadBalancerServing: , want True"}},
		"OneNodeAnswersAll":   {func(f *facts) { f.replies[1] = f.replies[0] }, []string{"nodes that answered: 1, want 2"}},
		"SomebodyElseAnswers": {func(f *facts) { f.replies[1].text = "It works!" }, []string{`curl http://127.64.1.1/: "It works!", ` + greetings}},
		"LoadBalancerIsLeft":  {func(f *facts) { f.left = f.balancers }, []string{"load balancers in the cloud without the Service: 1, want 0"}},
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
	want := `NODE     ZONE     TYPE    PROVIDER ID             ADDRESSES                                      POD ROUTE
node-1   sim-1a   small   simulated://sim-1/i-1   InternalIP 127.0.1.1, ExternalIP 203.0.113.1   10.244.1.0/24
node-2   sim-1a   small   simulated://sim-1/i-2   InternalIP 127.0.1.2, ExternalIP 203.0.113.2   10.244.2.0/24
`
	if diff := cmp.Diff(want, asItShouldBe().table()); diff != "" {
		t.Error(diff)
	}
}

func TestServiceURL(t *testing.T) {
	at := func(address string) []simulator.LoadBalancer {
		return []simulator.LoadBalancer{{Traffic: &simulator.Traffic{Listeners: []simulator.ListenerTraffic{{Address: address}}}}}
	}
	for name, test := range map[string]struct {
		balancers []simulator.LoadBalancer
		want      string
	}{
		"NoLoadBalancer":        {nil, ""},
		"NoTraffic":             {[]simulator.LoadBalancer{{}}, ""},
		"NotListening":          {at(""), ""},
		"PortOfTheService":      {at("127.64.1.1:80"), "http://127.64.1.1/"},
		"PortWithoutPrivileges": {at("127.64.1.1:20080"), "http://127.64.1.1:20080/"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serviceURL(test.balancers); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
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

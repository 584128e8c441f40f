package nodeport

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func node(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

// web is a Service of type LoadBalancer.
func web() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
}

// pod returns a ready endpoint on a node. All endpoints have the same address,
// as with the fake runtime.
func pod(name, node string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{"192.0.2.1"}, NodeName: &node, TargetRef: &corev1.ObjectReference{UID: types.UID(name)},
	}
}

func unready(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	e.Conditions.Ready = new(false)
	return e
}

// ending returns the endpoint as a terminating endpoint. The second argument says
// whether it is still serving.
func ending(e discoveryv1.Endpoint, serves bool) discoveryv1.Endpoint {
	e.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: &serves, Terminating: new(true)}
	return e
}

// slice returns a slice with the endpoints of web's only port.
func slice(endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{}},
		Endpoints:   endpoints,
	}
}

// texts returns a line for each port, in order. It leaves out the health of nodes that are
// healthy.
func texts(doors map[door]answer) []string {
	var all []string
	for _, d := range sorted(doors) {
		a := doors[d]
		said := fmt.Sprintf("%d %s", a.status, strings.TrimSuffix(a.body, "\n"))
		if said == `200 {"nodeEligible":true}` {
			continue
		}
		if a.closed != "" {
			said = "closed: " + a.closed
		}
		all = append(all, fmt.Sprintf("%s: %s %s: %s", a.node, d.protocol, d.at, said))
	}
	return all
}

func TestWanted(t *testing.T) {
	const (
		greeting   = "hello from a (Service shop/web, port 80)"
		aAnswers   = "a: TCP 127.0.1.1:30080: 200 " + greeting
		noneReady  = "a: TCP 127.0.1.1:30080: closed: no endpoint is ready"
		noneHere   = "a: TCP 127.0.1.1:30080: closed: no endpoint on this node is ready, and the Service's externalTrafficPolicy is Local"
		aIsHealthy = `a: TCP 127.0.1.1:31000: 200 {"service":{"namespace":"shop","name":"web"},"localEndpoints":%d,"serviceProxyHealthy":true}`
		aIsEmpty   = `a: TCP 127.0.1.1:31000: 503 {"service":{"namespace":"shop","name":"web"},"localEndpoints":0,"serviceProxyHealthy":true}`
	)
	local := func(s *seen) {
		s.services[0].Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		s.services[0].Spec.HealthCheckNodePort = 31000
	}
	endpoints := func(all ...discoveryv1.Endpoint) func(*seen) {
		return func(s *seen) { s.slices[0].Endpoints = all }
	}
	both := func(changes ...func(*seen)) func(*seen) {
		return func(s *seen) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	for name, test := range map[string]struct {
		but  func(*seen)
		want []string
	}{
		"NodeAnswersForAPodElsewhere":    {func(*seen) {}, []string{aAnswers}},
		"TypeNodePortIsServed":           {func(s *seen) { s.services[0].Spec.Type = corev1.ServiceTypeNodePort }, []string{aAnswers}},
		"TypeClusterIPIsNotServed":       {func(s *seen) { s.services[0].Spec.Type = corev1.ServiceTypeClusterIP }, nil},
		"PortWithoutNodePortIsNotServed": {func(s *seen) { s.services[0].Spec.Ports[0].NodePort = 0 }, nil},
		"SCTPPortIsNotServed":            {func(s *seen) { s.services[0].Spec.Ports[0].Protocol = corev1.ProtocolSCTP }, nil},
		"UDPPortIsServed": {
			func(s *seen) { s.services[0].Spec.Ports[0].Protocol = corev1.ProtocolUDP },
			[]string{"a: UDP 127.0.1.1:30080: 200 " + greeting},
		},
		"EachNodeAnswersForItself": {
			func(s *seen) { s.nodes = append(s.nodes, node("b", "127.0.1.2")) },
			[]string{aAnswers, "b: TCP 127.0.1.2:30080: 200 hello from b (Service shop/web, port 80)"},
		},
		"FirstNodeByNameGetsASharedAddress": {func(s *seen) { s.nodes = []*corev1.Node{node("b", "127.0.1.1"), s.nodes[0]} }, []string{aAnswers}},

		"StoppedMachineDoesNotListen":       {func(s *seen) { s.running = []string{"b"} }, nil},
		"DeletedNodeDoesNotListen":          {func(s *seen) { s.nodes = nil }, nil},
		"NodeWithoutAddressDoesNotListen":   {func(s *seen) { s.nodes[0] = node("a") }, nil},
		"NodeOnAnotherMachineDoesNotListen": {func(s *seen) { s.nodes[0] = node("a", "10.0.0.1", "127.64.0.1", "::1", "x") }, nil},
		"AddressOnThisMachineIsFound":       {func(s *seen) { s.nodes[0] = node("a", "10.0.0.1", "127.0.1.1") }, []string{aAnswers}},
		"ExternalIPIsNotTheNodesOwn":        {func(s *seen) { s.nodes[0].Status.Addresses[0].Type = corev1.NodeExternalIP }, nil},

		"NoSlice":                        {func(s *seen) { s.slices = nil }, []string{noneReady}},
		"NoEndpoint":                     {endpoints(), []string{noneReady}},
		"NoReadyEndpoint":                {endpoints(unready(pod("1", "a"))), []string{noneReady}},
		"OneReadyEndpointIsEnough":       {endpoints(unready(pod("1", "a")), pod("2", "b")), []string{aAnswers}},
		"EndingEndpointThatServesCounts": {endpoints(ending(pod("1", "a"), true)), []string{aAnswers}},
		"EndingEndpointThatDoesNotServe": {endpoints(ending(pod("1", "a"), false)), []string{noneReady}},
		"SliceOfAnotherService":          {func(s *seen) { s.slices[0].Labels[discoveryv1.LabelServiceName] = "other" }, []string{noneReady}},
		"SliceOfAnotherNamespace":        {func(s *seen) { s.slices[0].Namespace = "other" }, []string{noneReady}},
		"SliceOfAnotherFamily":           {func(s *seen) { s.slices[0].AddressType = discoveryv1.AddressTypeIPv6 }, []string{noneReady}},
		"SliceOfAnotherPort":             {func(s *seen) { s.slices[0].Ports[0].Name = new("other") }, []string{noneReady}},
		"SliceWithoutPortsHasAllPorts":   {func(s *seen) { s.slices[0].Ports = nil }, []string{aAnswers}},
		"SlicesAreReadTogether":          {func(s *seen) { s.slices = append([]*discoveryv1.EndpointSlice{slice()}, s.slices...) }, []string{aAnswers}},
		"EndpointsDifferFromPortToPort": {func(s *seen) {
			s.services[0].Spec.Ports = append(s.services[0].Spec.Ports, corev1.ServicePort{Name: "tls", Protocol: corev1.ProtocolTCP, Port: 443, NodePort: 30443})
		}, []string{aAnswers, "a: TCP 127.0.1.1:30443: closed: no endpoint is ready"}},

		"LocalPod":        {both(local, endpoints(pod("1", "a"))), []string{aAnswers, fmt.Sprintf(aIsHealthy, 1)}},
		"LocalPods":       {both(local, endpoints(pod("1", "a"), pod("2", "a"), pod("3", "b"))), []string{aAnswers, fmt.Sprintf(aIsHealthy, 2)}},
		"PodElsewhere":    {both(local, endpoints(pod("1", "b"))), []string{noneHere, aIsEmpty}},
		"PodNowhere":      {both(local, endpoints()), []string{noneHere, aIsEmpty}},
		"UnreadyLocalPod": {both(local, endpoints(unready(pod("1", "a")), pod("2", "b"))), []string{noneHere, aIsEmpty}},
		"LoadBalancersLeaveAnEndingLocalPodFirst": {both(local, endpoints(ending(pod("1", "a"), true))), []string{aAnswers, aIsEmpty}},
		"PodWithTwoPortsCountsOnce": {both(local, func(s *seen) {
			other := slice(pod("1", "a"))
			other.Ports[0].Name = new("other")
			s.slices = []*discoveryv1.EndpointSlice{slice(pod("1", "a")), other}
		}), []string{aAnswers, fmt.Sprintf(aIsHealthy, 1)}},
		"EndpointsWithoutPodsCountOneByOne": {both(local, func(s *seen) {
			one, two := discoveryv1.Endpoint{Addresses: []string{"192.0.2.1"}, NodeName: new("a")}, discoveryv1.Endpoint{Addresses: []string{"192.0.2.2"}, NodeName: new("a")}
			s.slices[0].Endpoints = []discoveryv1.Endpoint{one, two}
		}), []string{aAnswers, fmt.Sprintf(aIsHealthy, 2)}},
		"LocalWithoutHealthCheckPort": {both(local, func(s *seen) { s.services[0].Spec.HealthCheckNodePort = 0 }), []string{noneHere}},
		"ClusterHasNoHealthCheck":     {func(s *seen) { s.services[0].Spec.HealthCheckNodePort = 31000 }, []string{aAnswers}},

		"NodeThatIsBeingDeleted": {
			func(s *seen) { s.nodes[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			[]string{`a: TCP 127.0.1.1:10256: 503 {"nodeEligible":false}`, aAnswers},
		},
		"NodeThatTheAutoscalerRemoves": {
			func(s *seen) { s.nodes[0].Spec.Taints = []corev1.Taint{{Key: leaving}} },
			[]string{`a: TCP 127.0.1.1:10256: 503 {"nodeEligible":false}`, aAnswers},
		},
		"NodeWithAnotherTaint": {func(s *seen) { s.nodes[0].Spec.Taints = []corev1.Taint{{Key: "other"}} }, []string{aAnswers}},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen{
				running:  []string{"a", "b"},
				nodes:    []*corev1.Node{node("a", "127.0.1.1")},
				services: []*corev1.Service{web()},
				slices:   []*discoveryv1.EndpointSlice{slice(pod("1", "b"))},
			}
			test.but(&s)
			if diff := cmp.Diff(test.want, texts(wanted(s))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodeHealthIsADoor(t *testing.T) {
	doors := wanted(seen{running: []string{"a"}, nodes: []*corev1.Node{node("a", "127.0.1.1")}})
	want := map[door]answer{
		at("127.0.1.1:10256"): {node: "a", about: "health of the node", status: 200, body: `{"nodeEligible":true}` + "\n"},
	}
	if diff := cmp.Diff(want, doors, exact...); diff != "" {
		t.Error(diff)
	}
}

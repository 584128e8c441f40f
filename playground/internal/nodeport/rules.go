package nodeport

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// healthPort is the default port on which kube-proxy serves its own health and that of its
	// node.
	healthPort = 10256
	// leaving is the taint of a node that the cluster autoscaler is about to remove. Load
	// balancers that check kube-proxy's health notice the taint before the node is
	// removed (KEP-3836).
	leaving = "ToBeDeletedByClusterAutoscaler"
)

// machines is the network in which each instance of the simulated cloud has an address of its own.
var machines = netip.MustParsePrefix("127.0.0.0/10")

// seen is the observed state of the cluster.
type seen struct {
	running  []string // the nodes whose machines run
	nodes    []*corev1.Node
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
}

// door is a port at which a node can listen, with its protocol and address. No two Services have
// the same node port.
type door struct {
	protocol corev1.Protocol
	at       netip.AddrPort
}

// answer is the answer to every client of a port.
type answer struct {
	node, about string // the node that listens, and the Service port or health check that the port belongs to
	// closed is the reason why the port of a Service is not open; empty if it is
	// open.
	closed string
	status int // the HTTP status; UDP sends the body only
	body   string
}

// wanted returns the ports that kube-proxy's rules require, and the answer of each port. Only
// nodes whose machines run have ports. If two nodes have the same address, the node whose name
// sorts first gets the ports.
func wanted(s seen) map[door]answer {
	doors := map[door]answer{}
	behind := map[types.NamespacedName][]*discoveryv1.EndpointSlice{} // by Service
	for _, slice := range s.slices {
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		behind[service] = append(behind[service], slice)
	}
	nodes := slices.SortedFunc(slices.Values(s.nodes), func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		address, ok := addressOf(n)
		if !ok || !slices.Contains(s.running, n.Name) {
			continue
		}
		add := func(protocol corev1.Protocol, port int32, a answer) {
			d := door{protocol, netip.AddrPortFrom(address, uint16(port))} //nolint:gosec // the API server has validated it
			if _, taken := doors[d]; !taken {
				a.node = n.Name
				doors[d] = a
			}
		}
		add(corev1.ProtocolTCP, healthPort, nodeHealth(n))
		for _, service := range s.services {
			serviceDoors(service, behind[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}], n.Name, add)
		}
	}
	return doors
}

// addressOf returns the address at which a node listens. It returns false if the address is not on
// this machine.
func addressOf(n *corev1.Node) (netip.Addr, bool) {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && machines.Contains(ip) {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

// serviceDoors adds the ports that a node opens for a Service. The second argument has the
// EndpointSlices of the Service.
func serviceDoors(service *corev1.Service, behind []*discoveryv1.EndpointSlice, node string, add func(corev1.Protocol, int32, answer)) {
	if t := service.Spec.Type; t != corev1.ServiceTypeNodePort && t != corev1.ServiceTypeLoadBalancer {
		return
	}
	local := service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	of := fmt.Sprintf("Service %s/%s", service.Namespace, service.Name)
	for _, p := range service.Spec.Ports {
		if p.NodePort == 0 || p.Protocol == corev1.ProtocolSCTP {
			continue
		}
		endpoints := endpointsOf(behind, func(port discoveryv1.EndpointPort) bool { return ptr.Deref(port.Name, "") == p.Name })
		a := answer{about: fmt.Sprintf("%s, port %d", of, p.Port), status: http.StatusOK}
		a.body = fmt.Sprintf("hello from %s (%s)\n", node, a.about)
		switch {
		case local && !takesTraffic(on(node, endpoints)):
			a.closed = "no endpoint on this node is ready, and the Service's externalTrafficPolicy is Local"
		case !takesTraffic(endpoints):
			a.closed = "no endpoint is ready"
		}
		add(p.Protocol, p.NodePort, a)
	}
	if port := service.Spec.HealthCheckNodePort; local && port != 0 {
		every := endpointsOf(behind, func(discoveryv1.EndpointPort) bool { return true })
		add(corev1.ProtocolTCP, port, localHealth(of, service, on(node, every)))
	}
}

// endpointsOf returns the endpoints of those IPv4 slices that have the wanted port. The second
// argument reports whether a port is the wanted one. A slice whose Ports are nil has all ports.
func endpointsOf(behind []*discoveryv1.EndpointSlice, having func(discoveryv1.EndpointPort) bool) []discoveryv1.Endpoint {
	var all []discoveryv1.Endpoint
	for _, slice := range behind {
		if slice.AddressType == discoveryv1.AddressTypeIPv4 && (slice.Ports == nil || slices.ContainsFunc(slice.Ports, having)) {
			all = append(all, slice.Endpoints...)
		}
	}
	return all
}

func on(node string, endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	var local []discoveryv1.Endpoint
	for _, e := range endpoints {
		if ptr.Deref(e.NodeName, "") == node {
			local = append(local, e)
		}
	}
	return local
}

// takesTraffic reports whether one of the endpoints gets traffic. Ready endpoints get traffic. If
// none is ready, the terminating endpoints that are still serving get the traffic.
func takesTraffic(endpoints []discoveryv1.Endpoint) bool {
	return slices.ContainsFunc(endpoints, func(e discoveryv1.Endpoint) bool {
		c := e.Conditions
		return ready(e) || ptr.Deref(c.Serving, false) && ptr.Deref(c.Terminating, false)
	})
}

// ready reports whether an endpoint is ready. The API requires that unknown means
// ready.
func ready(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) }

// nodeHealth returns kube-proxy's health answer for its node.
func nodeHealth(n *corev1.Node) answer {
	stays := n.DeletionTimestamp == nil &&
		!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == leaving })
	a := answer{about: "health of the node", status: http.StatusOK, body: fmt.Sprintf("{\"nodeEligible\":%t}\n", stays)}
	if !stays {
		a.status = http.StatusServiceUnavailable
	}
	return a
}

// localHealth returns kube-proxy's health answer for a Service with externalTrafficPolicy Local. It
// does not count terminating endpoints. So a load balancer stops using the node before these
// endpoints are gone.
func localHealth(of string, service *corev1.Service, endpoints []discoveryv1.Endpoint) answer {
	// Addresses alone do not distinguish pods: with the fake runtime, all pods have the same
	// address.
	type endpoint struct {
		address string
		pod     corev1.ObjectReference
	}
	local := map[endpoint]bool{}
	for _, e := range endpoints {
		if ready(e) {
			local[endpoint{e.Addresses[0], ptr.Deref(e.TargetRef, corev1.ObjectReference{})}] = true
		}
	}
	a := answer{about: of + ", health check", status: http.StatusOK}
	a.body = fmt.Sprintf(`{"service":{"namespace":%q,"name":%q},"localEndpoints":%d,"serviceProxyHealthy":true}`+"\n",
		service.Namespace, service.Name, len(local))
	if len(local) == 0 {
		a.status = http.StatusServiceUnavailable
	}
	return a
}

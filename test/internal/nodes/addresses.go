package nodes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// Addresses parses addresses of the form "InternalIP=10.0.0.1".
func Addresses(texts ...string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, text := range texts {
		kind, address, _ := strings.Cut(text, "=")
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
	}
	return all
}

// CloudAddresses does the same as Addresses, for addresses of the simulated cloud.
func CloudAddresses(texts ...string) []simulator.Address {
	var all []simulator.Address
	for _, a := range Addresses(texts...) {
		all = append(all, simulator.Address{Type: simulator.AddressType(a.Type), Address: a.Address})
	}
	return all
}

// AddressesOf returns the addresses that the instance's Node must have: those of
// the instance, and the Hostname, which the kubelet sets to the Node's name.
func AddressesOf(i simulator.Instance) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, a := range i.Addresses {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: i.Name})
}

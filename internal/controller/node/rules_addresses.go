package node

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// changedAddresses returns the addresses to write. It returns nil if the Node already
// has them, or if the cloud offers no addresses. It also returns nil if the cloud does
// not offer the address that the kubelet was told to use.
func changedAddresses(o observed) []corev1.NodeAddress {
	wanted, unmet := wantedAddresses(o.node, o.answer.instance.addresses)
	if unmet != nil || slices.Equal(wanted, stored(o.node.Status.Addresses)) {
		return nil
	}
	return wanted
}

// unmetAddress is an address that the kubelet was told to use and that the
// cloud does not offer.
type unmetAddress struct {
	value  string
	parses bool
}

// wantedAddresses returns the addresses that the Node should have, in the form that
// stored returns. If the cloud offers no addresses, it returns nil, and the Node keeps
// its own.
func wantedAddresses(node *corev1.Node, offered []corev1.NodeAddress) ([]corev1.NodeAddress, *unmetAddress) {
	if len(offered) == 0 {
		return nil, nil
	}
	addresses := slices.Clone(offered)
	if !slices.ContainsFunc(offered, isHostname) {
		for _, address := range node.Status.Addresses {
			if isHostname(address) {
				addresses = append(addresses, address)
			}
		}
	}
	if chosen, ok := node.Annotations[api.AnnotationAlphaProvidedIPAddr]; ok {
		var unmet *unmetAddress
		if addresses, unmet = preferred(addresses, chosen); unmet != nil {
			return nil, unmet
		}
	}
	return stored(addresses), nil
}

func isHostname(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }

// preferred puts the kubelet's own addresses first, in the kubelet's order. They come
// from --node-ip: one address, or one of each family. Other addresses of the same types
// are dropped. Addresses of other types follow.
func preferred(addresses []corev1.NodeAddress, chosen string) ([]corev1.NodeAddress, *unmetAddress) {
	ips, ok := parseNodeIPs(chosen)
	if !ok {
		return nil, &unmetAddress{value: chosen}
	}
	var result []corev1.NodeAddress
	taken := map[corev1.NodeAddressType]bool{}
	for _, ip := range ips {
		before := len(result)
		for _, address := range addresses {
			if own, err := netip.ParseAddr(address.Address); err == nil && own.Unmap() == ip {
				result = append(result, address)
				taken[address.Type] = true
			}
		}
		if len(result) == before {
			return nil, &unmetAddress{value: ip.String(), parses: true}
		}
	}
	for _, address := range addresses {
		if !taken[address.Type] {
			result = append(result, address)
		}
	}
	return result, nil
}

// parseNodeIPs accepts what upstream accepts: one address, or two addresses of
// different families, without spaces. If there are two, neither can be 0.0.0.0 or ::.
func parseNodeIPs(chosen string) ([]netip.Addr, bool) {
	var ips []netip.Addr
	for text := range strings.SplitSeq(chosen, ",") {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return nil, false
		}
		ips = append(ips, ip.Unmap())
	}
	switch {
	case len(ips) == 1:
		return ips, true
	case len(ips) != 2, ips[0].Is4() == ips[1].Is4(), ips[0].IsUnspecified(), ips[1].IsUnspecified():
		return nil, false
	default:
		return ips, true
	}
}

// stored returns the list as the API server keeps it after a patch: grouped by type,
// without duplicates. The types come in the order in which they first appear, and the
// order within a type stays. Lists are compared in this form. Otherwise, a provider
// that mixes types would cause a patch in every pass.
func stored(addresses []corev1.NodeAddress) []corev1.NodeAddress {
	var (
		groups [][]corev1.NodeAddress
		place  = map[corev1.NodeAddressType]int{}
		seen   = map[corev1.NodeAddress]bool{} // A kubelet can write thousands of addresses, so none is compared with all others.
	)
	for _, address := range addresses {
		if seen[address] {
			continue
		}
		seen[address] = true
		n, known := place[address.Type]
		if !known {
			n, groups = len(groups), append(groups, nil)
			place[address.Type] = n
		}
		groups[n] = append(groups[n], address)
	}
	return slices.Concat(groups...)
}

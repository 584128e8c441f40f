package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// changedAddresses returns the addresses to write. It returns nil if the Node already
// has them, in any order, or if the cloud offers no addresses. It also returns nil if the
// cloud does not offer the address that the kubelet was told to use, or offers one that is
// no address.
func changedAddresses(o observed) []corev1.NodeAddress {
	wanted, unmet := wantedAddresses(o.node, o.answer.instance.addresses)
	if unmet != nil || len(unusableAddresses(o.answer.instance)) > 0 || isSame(wanted, stored(o.node.Status.Addresses), chosenIPs(o.node)) {
		return nil
	}
	return wanted
}

// isSame reports whether two lists have the same addresses. Their order does not count,
// because some clouds change it with each answer. What counts is the order of the
// addresses that the kubelet was told to use: it says which family is the first.
func isSame(a, b []corev1.NodeAddress, chosen []netip.Addr) bool {
	inOrder := func(list []corev1.NodeAddress) []corev1.NodeAddress {
		place := func(a corev1.NodeAddress) int {
			ip, _ := netip.ParseAddr(a.Address) // no IP address: in no place
			return slices.Index(chosen, ip.Unmap())
		}
		list = slices.DeleteFunc(slices.Clone(list), func(a corev1.NodeAddress) bool { return place(a) < 0 })
		slices.SortStableFunc(list, func(a, b corev1.NodeAddress) int { return strings.Compare(string(a.Type), string(b.Type)) })
		return list
	}
	sorted := func(list []corev1.NodeAddress) []corev1.NodeAddress {
		return slices.SortedFunc(slices.Values(list), func(a, b corev1.NodeAddress) int {
			return cmp.Or(strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Address, b.Address))
		})
	}
	return slices.Equal(sorted(a), sorted(b)) && slices.Equal(inOrder(a), inOrder(b))
}

// chosenIPs returns the addresses that the kubelet was told to use.
func chosenIPs(node *corev1.Node) []netip.Addr {
	ips, _ := parseNodeIPs(node.Annotations[api.AnnotationAlphaProvidedIPAddr])
	return ips
}

// An address is taken from a Node that has no other one only after so many answers in a
// row, over so much time. An agent on the machine might be away, or an interface down for
// a moment, and load balancers would lose the Node.
const (
	takenAfter = removeAfter
	takenOver  = time.Minute
)

// isTaken reports whether the Node would lose its last IP address, or its last internal
// one.
func isTaken(have, wanted []corev1.NodeAddress) bool {
	for _, is := range []func(corev1.NodeAddress) bool{isIP, isInternalIP} {
		if slices.ContainsFunc(have, is) && wanted != nil && !slices.ContainsFunc(wanted, is) {
			return true
		}
	}
	return false
}

// followAddresses adds to the plan the write of the addresses. The last IP address of the
// Node stays until enough answers leave it out.
func followAddresses(o observed, p *plan) {
	p.addresses = changedAddresses(o)
	if !isTaken(o.node.Status.Addresses, p.addresses) {
		return
	}
	p.memory.withoutIP, p.memory.withoutIPSince = o.memory.withoutIP+1, o.memory.withoutIPSince
	if o.memory.withoutIP == 0 {
		p.memory.withoutIPSince = o.now
	}
	if p.memory.withoutIP < takenAfter || o.now.Sub(p.memory.withoutIPSince) < takenOver {
		p.addresses = nil
	}
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

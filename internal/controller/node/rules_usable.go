package node

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// isUnusableID reports whether a provider ID cannot be that of an instance: its last part
// is empty, or it was made of a value that was not there. Everything else is accepted, as
// with upstream, because providers write their IDs in many forms.
func isUnusableID(id string) bool {
	trimmed := strings.TrimFunc(id, isBlank)
	return id != "" && (trimmed == "" || strings.HasSuffix(trimmed, "/") || isFormatted(id))
}

// unusableAddresses returns the addresses of an instance that are not addresses of
// their type. Names of hosts are not checked further, because their forms vary.
func unusableAddresses(i instance) []string {
	var unusable []string
	for _, a := range i.addresses {
		wrong := strings.TrimFunc(a.Address, isBlank) == "" || isFormatted(a.Address)
		if isIP(a) {
			wrong = !isAddress(a.Address)
		}
		if wrong {
			unusable = append(unusable, fmt.Sprintf("%s %q", a.Type, a.Address))
		}
	}
	return unusable
}

// isAddress accepts what upstream parses, which includes leading zeros, and zones.
func isAddress(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && !ip.IsUnspecified() || err != nil && netutils.ParseIPSloppy(text) != nil
}

func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// isFormatted reports whether package fmt has written a text for a value that was not
// there, or that was of another kind.
func isFormatted(text string) bool {
	return strings.Contains(text, "<nil>") || strings.Contains(text, "%!")
}

// isIP reports whether the type of an address says that it is an IP address.
func isIP(a corev1.NodeAddress) bool { return isInternalIP(a) || a.Type == corev1.NodeExternalIP }

func isInternalIP(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }

// providerIDIsUsable returns a cause if the Node would get a provider ID that names no
// instance. The ID could never be changed.
func providerIDIsUsable(o observed) *message.Cause {
	if o.node.Spec.ProviderID != "" || !isUnusableID(o.answer.instance.providerID) {
		return nil
	}
	return providerIDUnusable(o.answer.instance.providerID)
}

// providerIDIsFree returns a cause if another Node has the same instance.
func providerIDIsFree(o observed) *message.Cause {
	if o.twin == "" {
		return nil
	}
	return new(sharedInstance(o))
}

// isTwin reports whether a Node with the same provider ID keeps this one from being
// released: its kubelet reports, and it was there first. A Node that has fallen silent
// might be the same machine under its earlier name.
func isTwin(node, other *corev1.Node) bool {
	switch {
	case other.Name == node.Name, other.DeletionTimestamp != nil, !nodefact.Reports(other):
		return false
	default:
		return !nodefact.IsUninitialized(other) || other.CreationTimestamp.Before(&node.CreationTimestamp)
	}
}

// addressesAreUsable returns a cause if the cloud offers an address that is none.
func addressesAreUsable(o observed) *message.Cause {
	unusable := unusableAddresses(o.answer.instance)
	if len(unusable) == 0 {
		return nil
	}
	return addressesUnusable(unusable)
}

// hasIP returns a cause if the Node would be released without any IP address. Nothing
// could reach it. Often a cloud learns the addresses from an agent on the machine, which
// has not reported yet.
func hasIP(o observed) *message.Cause {
	addresses, _ := wantedAddresses(o.node, o.answer.instance.addresses)
	if addresses == nil {
		addresses = o.node.Status.Addresses
	}
	if slices.ContainsFunc(addresses, isIP) {
		return nil
	}
	return noIPOffered()
}

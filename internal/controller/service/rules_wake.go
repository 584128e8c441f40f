package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// priority is the priority of a pass over a Service. The zero value means no pass.
type priority string

const (
	noPass priority = ""
	low    priority = "low" // no user waits; Services with high priority go first
	high   priority = "high"
)

// change is a change of a Service that the informer has reported.
type change struct {
	before, now *corev1.Service // before is nil for a new Service, now is nil for a deleted one
	// memory is the memory under the Service's name.
	memory memory
}

// wakes returns the priority of the pass that a change of a Service requires. Most
// Services never need a pass. A Service with a memory needs a pass after each change.
func (p Policy) wakes(c change) priority {
	switch {
	case c.now == nil:
		return high
	case c.before != nil && c.before.ResourceVersion == c.now.ResourceVersion:
		return noPass // The informer has listed the Services again, and nothing has changed.
	case c.memory.isEmpty() && !p.concerns(c.now) && !p.isHeld(c.now) && (c.before == nil || !p.concerns(c.before)):
		return noPass
	case c.before == nil && c.now.DeletionTimestamp == nil && len(c.now.Status.LoadBalancer.Ingress) > 0:
		return low // An earlier process provided the load balancer.
	default:
		return high
	}
}

// invalidates reports whether a new set has to be made after a change of a Node. Other
// changes wait until a new set is made for another reason. A Node that may be a backend
// again never waits, because nothing else might change for hours.
func (b BackendPolicy) invalidates(before, now *corev1.Node) bool {
	return before == nil || now == nil ||
		before.UID != now.UID ||
		isReplaced(before, now) || hasOtherIPs(before, now) ||
		!b.isBackend(before) && b.isBackend(now) ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		isExcluded(before) != isExcluded(now) ||
		b.isDisowned(before) != b.isDisowned(now) ||
		b.showsEnd(before) != b.showsEnd(now) ||
		b.SkipUninitialized && nodefact.IsUninitialized(before) != nodefact.IsUninitialized(now) ||
		b.WakeOnTaint && nodefact.HasTaint(before, nodefact.TaintToBeDeleted) != nodefact.HasTaint(now, nodefact.TaintToBeDeleted) ||
		b.WakeOnDeletion && before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
}

// isReplaced reports whether the Node may have another machine now, under the same
// provider ID. Some clouds make the new machine with the name and the ID of the old one,
// and forget that the old one was behind load balancers. The new machine has another
// boot. A Node that has only booted again for so long that it counted as silent looks the
// same.
func isReplaced(before, now *corev1.Node) bool {
	was, is := before.Status.NodeInfo, now.Status.NodeInfo
	switch {
	case before.UID != now.UID, was.BootID == is.BootID && is.BootID != "":
		return false
	case differs(was.SystemUUID, is.SystemUUID), differs(was.MachineID, is.MachineID):
		return true
	default:
		return isSilent(before) && !isSilent(now)
	}
}

// hasOtherIPs reports whether the IP addresses of a Node have changed. Many load balancers
// know their backends by these.
func hasOtherIPs(before, now *corev1.Node) bool {
	if slices.Equal(before.Status.Addresses, now.Status.Addresses) {
		return false
	}
	lacks := func(a, b *corev1.Node) bool {
		return slices.ContainsFunc(a.Status.Addresses, func(address corev1.NodeAddress) bool {
			isIP := address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP
			return isIP && !slices.Contains(b.Status.Addresses, address)
		})
	}
	return lacks(before, now) || lacks(now, before)
}

// differs reports whether both IDs are known and are not the same.
func differs(a, b string) bool { return a != "" && b != "" && a != b }

func isSilent(node *corev1.Node) bool {
	ready := nodefact.Condition(node, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionUnknown
}

package ipam

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// waitsForOthers is the reason in metrics for a Node that waits because another
// allocator might be at work.
const waitsForOthers = "WaitsForOthers"

// The first two reasons are kube-controller-manager's.
var (
	reasonFull = message.Reason{
		Name: "CIDRNotAvailable", On: "Node", Type: corev1.EventTypeWarning,
		When: "`--cluster-cidr` has no CIDR left for the Node's pods. The Node gets one as soon as another Node is gone.",
		Do:   "Remove Nodes that are not needed, or give the cluster another CIDR: CIDRs of Nodes that exist never change.",
	}
	reasonFailed = message.Reason{
		Name: "CIDRAssignmentFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node's CIDRs, or its annotation `" + AnnotationFence + "`, could not be written: the API server refused the write or did not answer. The same CIDRs stay reserved for the Node and are written again, after a delay that grows to a minute.",
		Do:   "Check the RBAC rules of the cloud-controller-manager, the admission policies and the webhooks.",
	}
	reasonFencing = message.Reason{
		Name: "CIDRAssignmentHeld", On: "Node", Type: corev1.EventTypeWarning,
		When: "No Node gets CIDRs, because an earlier leader may still write the CIDRs of another Node. The annotation `" + AnnotationFence + "` of that Node could not be written for 30 seconds.",
		Do:   "Look at the events of the Node that the message names.",
	}
	reasonRival = message.Reason{
		Name: "CIDRAllocatorConflict", On: "Node", Type: corev1.EventTypeWarning,
		When: "This daemon gives no CIDRs, because another allocator gives CIDRs to Nodes. The message names a Node with such CIDRs and the client that has given them.",
		Do:   "Switch off one of the two allocators: that of kube-controller-manager with `--allocate-node-cidrs=false`, or this controller. When a Node has waited for 10 minutes and nobody has given it CIDRs, the daemon gives CIDRs again.",
	}
	reasonOverlap = message.Reason{
		Name: "CIDROverlap", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node's CIDRs overlap with another Node's. This daemon has given the CIDRs of at most one of the two Nodes. Nothing is changed.",
		Do:   "Find out who has given them. The CIDRs of a Node cannot be changed: drain one of the Nodes, delete it, and let its kubelet register again.",
	}
	reasonAtWork = message.Reason{
		Name: "CIDRAllocatorsConflict", On: "Lease", Type: corev1.EventTypeWarning,
		When: "Several Nodes have got CIDRs from another allocator, so this daemon gives no CIDRs. The message names a Node with such CIDRs and the client that has given them.",
		Do:   "Switch off one of the two allocators: that of kube-controller-manager with `--allocate-node-cidrs=false`, or this controller.",
	}
)

// Reasons returns the reasons of all events of this controller.
func Reasons() []message.Reason {
	return []message.Reason{reasonFull, reasonFailed, reasonFencing, reasonRival, reasonOverlap, reasonAtWork}
}

// isFull returns the event that says that no CIDR is left.
func isFull(cluster netip.Prefix) message.Event {
	return reasonFull.Event(fmt.Sprintf("All CIDRs of --cluster-cidr=%s are taken, so this Node gets no CIDR for its pods. "+
		"It gets one as soon as another Node is gone.", cluster))
}

// isFencing returns the event that says that the Node waits until another Node is
// fenced.
func isFencing(o observed) message.Event {
	return reasonFencing.Event(fmt.Sprintf("No Node gets CIDRs yet, because an earlier leader may still write the CIDRs of %d Nodes, among them %s. "+
		"See the events of that Node.", o.suspects, message.Value(o.suspect)))
}

// isRival returns the event that is recorded on a Node while another allocator is at
// work.
func isRival(s sighting) message.Event {
	return reasonRival.Event(fmt.Sprintf("This Node gets no CIDRs, because another allocator is at work: %s. "+
		"Switch one of the two off. This daemon gives CIDRs again when a Node has waited for %v and nobody has given it any.", s, longWait))
}

// isAtWork returns the event that is recorded on the Lease when another allocator is
// found to be at work.
func isAtWork(s sighting) message.Event {
	return reasonAtWork.Event(fmt.Sprintf("No CIDRs are given to Nodes, because another allocator is at work: %s. Switch one of the two off.", s))
}

// String returns the sighting as a part of a sentence.
func (s sighting) String() string {
	by := "an unknown client"
	if s.manager != "" {
		by = message.Value(s.manager)
	}
	return fmt.Sprintf("%s has given %s to node %s", by, message.Value(strings.Join(s.cidrs, ",")), message.Value(s.node))
}

// isFailed returns the event that says that a write has failed.
func isFailed(what string, err error) message.Event {
	return reasonFailed.Event(fmt.Sprintf("%s could not be written. The write is tried again. Check the cloud-controller-manager's RBAC rules, "+
		"admission policies and webhooks. (%s)", what, message.Cut(err)))
}

// overlap returns the event that says that two Nodes have CIDRs that overlap.
func overlap(has []string, other entry) message.Event {
	return reasonOverlap.Event(fmt.Sprintf("The CIDRs of this Node (%s) overlap with those of node %s (%s), so that pods of both may have the same address. "+
		"Find out who has given them. Drain and delete one of the two Nodes, and let its kubelet register again.",
		message.Value(strings.Join(has, ",")), message.Value(other.name), message.Value(join(other.cidrs))))
}

// join returns CIDRs as text.
func join(cidrs []netip.Prefix) string {
	return strings.Join(texts(cidrs), ",")
}

// texts returns CIDRs in the form in which the API server stores them.
func texts(cidrs []netip.Prefix) (all []string) {
	for _, cidr := range cidrs {
		all = append(all, cidr.String())
	}
	return all
}

package ipam

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// AnnotationFence is an annotation of Nodes. It names the leader that may write the
// Node's CIDRs. Every write of CIDRs tests the annotation. So the API server refuses a
// late write of an earlier leader.
const AnnotationFence = "fairlead.dev/pod-cidr-fence"

// observed is the input of a decision about one Node.
type observed struct {
	now time.Time
	// node is the Node in the cache, or nil if the cache has none. The Node must not
	// be changed.
	node *corev1.Node
	// entry is the Node's entry of the ledger, or the zero value if there is none.
	entry entry
	// former has the UIDs of the other Nodes in the ledger that have this name.
	former []types.UID
	// live is the Node as this pass has read it from the API server, or nil if this
	// pass has not read it.
	live *live
	// overlaps is another Node whose CIDRs overlap with this Node's, or nil if there
	// is none.
	overlaps *entry
	// inRange means that the Node's CIDRs overlap with the cluster's.
	inRange bool
	// suspects is the number of Nodes that have to be fenced before any Node gets
	// CIDRs, and suspect is the name of one of them.
	suspects int
	suspect  string
	// full is the CIDR of the cluster in which this pass has found no free part. It
	// is the zero value if there is none.
	full   netip.Prefix
	others others
	memory memory
	claim  ownership.Claim
	// self names this leader in fences.
	self string
}

// live has the fields of a Node that were read from the API server.
type live struct {
	uid     types.UID // empty if there is no such Node
	cidrs   []string
	manager string // the manager that has written the CIDRs, by managedFields
}

// action is the next thing that a pass does.
type action string

const (
	doNothing action = "nothing"
	read      action = "read the Node from the API server"            // then decide again
	release   action = "release CIDRs of Nodes that are gone"         // then decide again
	trust     action = "trust that no earlier leader writes the Node" // then decide again
	prove     action = "note that nobody else gives CIDRs"            // then decide again
	reserve   action = "reserve CIDRs"                                // then decide again
	fence     action = "fence the Node"                               // then decide again
	adopt     action = "adopt the Node's CIDRs"
	write     action = "write the Node's CIDRs"
	wait      action = "wait"
)

// plan is what to do with one Node, and why.
type plan struct {
	do  action
	why string
	// gone are the Nodes whose CIDRs are released.
	gone []types.UID
	// sighting is not nil if another allocator has given the CIDRs that are adopted.
	sighting *sighting
	event    *message.Event
	// reason says, for metrics, why the Node waits.
	reason string
	// retry means that the next pass is due after a growing delay. If retry is false,
	// after is the time until the next pass, and 0 means that the Node waits for a
	// change.
	retry  bool
	after  time.Duration
	memory memory
}

// decide returns the plan for one Node.
func decide(o observed) plan {
	if len(o.former) > 0 {
		return settle(o)
	}
	if o.node == nil {
		return plan{do: doNothing, why: "the Node is gone"}
	}
	if o.memory.uid != o.node.UID {
		o.memory = memory{uid: o.node.UID}
	}
	if has := cidrsOf(o.node); len(has) > 0 {
		return keep(o, has)
	}
	if o.entry.written {
		return plan{do: doNothing, why: "the cache does not have the Node's CIDRs yet"}
	}
	return give(o)
}

// settle returns the plan to release the CIDRs of former Nodes with this name. These
// Nodes count as gone only if the API server itself says so. The cache is not enough
// evidence.
func settle(o observed) plan {
	if o.live == nil {
		return plan{do: read, why: "another Node of this name holds CIDRs"}
	}
	gone := slices.DeleteFunc(slices.Clone(o.former), func(uid types.UID) bool { return uid == o.live.uid })
	if len(gone) == 0 {
		return plan{do: wait, why: "the cache has another Node than the API server", after: behind, memory: o.memory}
	}
	return plan{do: release, why: "the API server says that the Node is gone", gone: gone, memory: o.memory}
}

// keep returns the plan for a Node that has CIDRs.
func keep(o observed, has []string) plan {
	cidrs := parse(has)
	if o.entry.written && slices.Equal(o.entry.cidrs, cidrs) {
		return plan{do: doNothing, why: "the Node has its CIDRs"}
	}
	strange := isStrange(o, cidrs)
	if !strange && o.overlaps == nil {
		return plan{do: adopt, why: "the Node has CIDRs"}
	}
	if o.live == nil {
		return plan{do: read, why: "another allocator may have given the Node its CIDRs"}
	}
	if o.live.uid != o.node.UID || !slices.Equal(o.live.cidrs, has) {
		return plan{do: wait, why: "the cache has another Node than the API server", after: behind, memory: o.memory}
	}
	p := plan{do: adopt, why: "the Node has CIDRs"}
	if strange {
		p.sighting = &sighting{node: o.node.Name, cidrs: has, manager: o.live.manager, at: o.now}
		p.why = "the Node has CIDRs that this daemon has not given"
	}
	if o.overlaps != nil {
		event := overlap(has, *o.overlaps)
		p.event, p.why = &event, event.Message
	}
	return p
}

// isStrange reports whether another allocator has given the Node its CIDRs. If the
// Node was not fenced yet, isStrange returns false, because an earlier leader may
// have given the CIDRs. A Node that does not belong to this daemon may get CIDRs from
// anybody, unless they overlap with --cluster-cidr.
func isStrange(o observed, cidrs []netip.Prefix) bool {
	_, disowned := o.claim.Disowns(o.node)
	return !o.entry.without.IsZero() && !o.entry.suspect && !slices.Equal(o.entry.cidrs, cidrs) && (!disowned || o.inRange)
}

// give returns the next step for a Node without CIDRs.
func give(o observed) plan {
	why, disowned := o.claim.Disowns(o.node)
	named := o.node.Annotations[AnnotationFence]
	switch {
	case o.entry.suspect && (disowned || named == o.self):
		return plan{do: trust, why: "the Node is fenced or does not belong to this daemon", memory: o.memory}
	case disowned:
		return plan{do: doNothing, why: why}
	case o.entry.suspect:
		return plan{do: fence, why: "an earlier leader may still write the Node's CIDRs", memory: o.memory}
	case o.node.DeletionTimestamp != nil:
		return plan{do: doNothing, why: "the Node is being deleted"}
	case named != "" && named != o.self:
		return plan{do: fence, why: "the Node is fenced for another leader", memory: o.memory}
	case o.suspects > 0:
		return holds(o, isFencing(o))
	}
	if !o.others.isProven() {
		if after := o.others.remaining(o.now, since(o)); after > 0 {
			return awaitsOthers(o, after)
		}
		return plan{do: prove, why: "the Node has waited, and nobody has given it CIDRs", memory: o.memory}
	}
	switch {
	case o.full.IsValid():
		return holds(o, isFull(o.full))
	case len(o.entry.cidrs) == 0:
		return plan{do: reserve, why: "the Node has no CIDRs", memory: o.memory}
	default:
		return plan{do: write, why: "the Node has no CIDRs", memory: o.memory}
	}
}

// since returns the time at which the Node began to wait for CIDRs. That is its
// creation time or the time when this daemon first saw it without CIDRs, whichever is
// earlier. The creation time is the later one only if the API server's clock is ahead
// of this daemon's.
func since(o observed) time.Time {
	if created := o.node.CreationTimestamp.Time; created.Before(o.entry.without) {
		return created
	}
	return o.entry.without
}

// cidrsOf returns the CIDRs of the Node's pods.
func cidrsOf(node *corev1.Node) []string {
	if len(node.Spec.PodCIDRs) == 0 && node.Spec.PodCIDR != "" {
		return []string{node.Spec.PodCIDR}
	}
	return node.Spec.PodCIDRs
}

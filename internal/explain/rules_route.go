package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// eventsOfRoute has the reasons of events about the CIDR of a route.
var eventsOfRoute = []string{"FailedToCreateRoute", "PodCIDRRejected", "PodCIDROverlaps", "CIDROverlap"}

// route explains a route. A route leads to the pods of a Node, and that Node shows the
// state of the route.
func (all Reasons) route(v View) Answer {
	owner := v.owner()
	if owner == nil {
		a := v.answer(all, nil, nil)
		a.State, a.Summary = Unknown, "No Node has this CIDR. Only the cloud and the daemon know whether there is such a route. Look at the daemon's events, and run its sub-command plan."
		return a
	}
	events := all.recorded("Node", v.Events)
	claims := slices.DeleteFunc(all.conditions(owner), func(c claim) bool { return c.summary != unreachable })
	if len(claims) > 0 { // An event says more than the condition.
		for _, e := range events {
			if slices.Contains(eventsOfRoute, e.Name) && strings.Contains(e.cause.Text, v.CIDR.String()) && e.cause.Text != claims[0].cause.Text {
				claims = slices.Insert(claims, 0, claim{cause: e.cause, state: Waits})
				break
			}
		}
	}
	a := v.answer(all, claims, events)
	if a.Why != nil {
		a.Why.About = "node/" + owner.Name
	}
	to := "It leads to the pods of node/" + owner.Name
	if len(v.Owners) > 1 {
		to += fmt.Sprintf(", the oldest of %d Nodes that have the CIDR", len(v.Owners))
	}
	switch shown := all.created(owner); {
	case len(claims) > 0:
		a.State, a.Summary, a.Since = Waits, to+". It is missing.", sinceOf(claims)
	case shown:
		a.State, a.Summary = Ready, to+". All routes of that Node exist."
	default:
		a.State, a.Summary = Unknown, to+". No daemon has said whether it exists: routes may be switched off (--configure-cloud-routes)."
	}
	a.Writers = writers(owner.ManagedFields, fieldsOfRoute)
	a.Next = append(a.Next, "kubectl describe node "+owner.Name)
	return a
}

// owner returns the oldest Node that has the CIDR, or nil if there is none.
func (v View) owner() *corev1.Node {
	if len(v.Owners) == 0 {
		return nil
	}
	oldest := slices.MinFunc(v.Owners, func(a, b corev1.Node) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &oldest
}

// created reports whether a condition of the Node says that its routes exist.
func (all Reasons) created(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse {
			_, ours := all.find("Node", string(c.Type), c.Reason)
			return ours
		}
	}
	return false
}

package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// eventsOfRoute has the reasons of events about the CIDR of a route.
var eventsOfRoute = []string{"FailedToCreateRoute", "PodCIDRRejected", "PodCIDROverlaps", "CIDROverlap"}

// route explains a route. A route leads to the pods of a Node, and that Node shows the
// state of the route.
func (all Reasons) route(s subject) Answer {
	owner := s.of.(*corev1.Node)
	events := all.recorded("Node", s.events)
	claims := slices.DeleteFunc(all.claimsOfConditions(owner), func(c claim) bool { return c.summary != unreachable })
	if len(claims) > 0 { // An event says more than the condition.
		of := slices.IndexFunc(events, func(e event) bool {
			return slices.Contains(eventsOfRoute, e.Name) && strings.Contains(e.cause.Text, s.Object.Key) && e.cause.Text != claims[0].cause.Text
		})
		if of >= 0 {
			claims = slices.Insert(claims, 0, claim{cause: events[of].cause})
		}
	}
	a := s.answer(all, claims, events)
	if a.Why != nil {
		a.Why.About = kindNode + "/" + owner.Name
	}
	to := "It leads to the pods of node/" + owner.Name
	if s.owners > 1 {
		to += fmt.Sprintf(", the oldest of %d Nodes that have the CIDR", s.owners)
	}
	c := nodefact.Condition(owner, corev1.NodeNetworkUnavailable)
	created := false
	if c != nil && c.Status == corev1.ConditionFalse {
		_, created = all.find("Node", string(c.Type), c.Reason)
	}
	switch {
	case len(claims) > 0:
		a.State, a.Summary, a.Since = Waits, to+". It is missing.", sinceOf(claims)
	case created:
		a.State, a.Summary = Ready, to+". All routes of that Node exist."
	default:
		a.State, a.Summary = Unknown, to+". No daemon has said whether it exists: routes may be switched off (--configure-cloud-routes)."
	}
	return a
}

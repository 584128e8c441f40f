package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
)

// conditionsOfService has the conditions that say what a Service waits for. The
// most specific conditions come first.
var conditionsOfService = []struct {
	kind    string
	waits   metav1.ConditionStatus
	summary string
}{
	{mark.ServiceCleanupHeld, metav1.ConditionTrue, "It is being deleted, and waits for the controller of its load balancer class."},
	{mark.ServiceProvisioning, metav1.ConditionTrue, "Its load balancer is not in line with it yet."},
	{mark.ServiceServing, metav1.ConditionFalse, "Its load balancer does not serve it."},
}

// failuresOfService has the reasons of events about failures. Such a failure lasts
// until a call succeeds. If a Service has no conditions, these events say what it waits
// for.
var failuresOfService = []string{"SyncLoadBalancerFailed", "UpdateLoadBalancerFailed", "LoadBalancerQueued", "LoadBalancerCleanupHeld", "UnAvailableLoadBalancer"}

// service explains a Service.
func (all Reasons) service(of subject) Answer {
	s := of.of.(*corev1.Service)
	events := all.recorded("Service", of.events)
	claims := all.conditionsOf(s)
	if len(claims) == 0 && len(s.Status.Conditions) == 0 {
		claims = claimsOfFailures(events)
	}
	a := of.answer(all, claims, events)
	serving := meta.FindStatusCondition(s.Status.Conditions, mark.ServiceServing)
	if serving != nil && serving.Status == metav1.ConditionFalse && a.State == Waits {
		a.Since = &serving.LastTransitionTime.Time
		if serving.Reason == "NotProvisioned" {
			a.Summary = "It waits for its load balancer."
		}
	}
	isServed := slices.Contains(s.Finalizers, mark.ServiceFinalizer)
	switch {
	case s.DeletionTimestamp != nil && isServed:
		a.Since = &s.DeletionTimestamp.Time
		if a.Summary != conditionsOfService[0].summary {
			a.State, a.Summary = Deleting, "It is being deleted, and waits until its load balancer is gone."
		}
	case len(claims) > 0:
	case s.Spec.Type != corev1.ServiceTypeLoadBalancer && !isServed:
		a.State, a.Summary = LeftAlone, fmt.Sprintf("Its type is %s, so it has no load balancer.", s.Spec.Type)
	case serving != nil, len(s.Status.LoadBalancer.Ingress) > 0:
		a.State, a.Summary = Ready, "Its load balancer serves it."
	default:
		a.State, a.Summary, a.Since = Unknown, "It waits for its load balancer. No daemon has said why."+ofClass(s), &s.CreationTimestamp.Time
	}
	return a
}

// ofClass returns a sentence about the class of a Service, or "" if the Service has
// none. It is for a Service about which no daemon has written anything.
func ofClass(s *corev1.Service) string {
	if s.Spec.LoadBalancerClass == nil {
		return ""
	}
	return fmt.Sprintf(" Its class is %s: find out which controller serves it.", *s.Spec.LoadBalancerClass)
}

func (all Reasons) conditionsOf(s *corev1.Service) []claim {
	var claims []claim
	for _, known := range conditionsOfService {
		c := meta.FindStatusCondition(s.Status.Conditions, known.kind)
		if c == nil || c.Status != known.waits {
			continue
		}
		r, _ := all.find("Service", known.kind, c.Reason)
		claims = append(claims, claim{
			cause: Cause{
				Shown: fmt.Sprintf("condition %s=%s", c.Type, c.Status), Reason: c.Reason, Text: c.Message, Do: r.Do,
				Since: c.LastTransitionTime.Time,
			},
			state: Waits, summary: known.summary,
		})
	}
	return claims
}

func claimsOfFailures(events []event) []claim {
	for _, e := range events {
		if slices.Contains(failuresOfService, e.Name) && !e.isOver(events, "EnsuredLoadBalancer", "UpdatedLoadBalancer", "DeletedLoadBalancer") {
			return []claim{{cause: e.cause, state: Waits, summary: "Its load balancer is not in line with it yet."}}
		}
	}
	return nil
}

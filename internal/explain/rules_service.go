package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
)

// service explains a Service.
func (all Reasons) service(of subject) Answer {
	s := of.of.(*corev1.Service)
	events := all.recorded("Service", of.events)
	claims := all.claims(s, events)
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
		if a.Summary != cleanupHeld {
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

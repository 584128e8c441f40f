package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// isOurs tells whether a Service is served here. A Service of another class is
// never touched, not even to clean up (S4).
func (p Policy) isOurs(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return class == nil || slices.Contains(p.Classes, *class)
}

// concerns tells whether a Service may have something to do for us; most
// Services of a cluster have not.
func (p Policy) concerns(service *corev1.Service) bool {
	return p.isOurs(service) &&
		(service.Spec.Type == corev1.ServiceTypeLoadBalancer || hasFinalizer(service) || len(ownConditions(service)) > 0)
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, Finalizer)
}

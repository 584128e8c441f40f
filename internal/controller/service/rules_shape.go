package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// shape is everything in a Service that a provider may build its load balancer
// from. Upstream does not compare the fields of the second group. The table in
// docs/compared-with-upstream.md says why each field is in or out.
type shape struct {
	Annotations              map[string]string
	Ports                    []corev1.ServicePort
	SessionAffinity          corev1.ServiceAffinity
	SessionAffinityConfig    *corev1.SessionAffinityConfig
	LoadBalancerIP           string
	LoadBalancerSourceRanges []string
	ExternalIPs              []string
	ExternalTrafficPolicy    corev1.ServiceExternalTrafficPolicy
	HealthCheckNodePort      int32

	Class                         *string
	ClusterIPs                    []string
	IPFamilies                    []corev1.IPFamily
	IPFamilyPolicy                *corev1.IPFamilyPolicy
	AllocateLoadBalancerNodePorts *bool
	TrafficDistribution           *string
}

// shapeOf returns the name of a Service's shape: two Services with the same shape
// need the same load balancer.
func shapeOf(service *corev1.Service) string {
	spec := service.Spec
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(shape{ // There is no error: plain data always encodes, and a hash takes all of it.
		Annotations:              othersOf(service.Annotations),
		Ports:                    spec.Ports,
		SessionAffinity:          spec.SessionAffinity,
		SessionAffinityConfig:    spec.SessionAffinityConfig,
		LoadBalancerIP:           spec.LoadBalancerIP,
		LoadBalancerSourceRanges: spec.LoadBalancerSourceRanges,
		ExternalIPs:              spec.ExternalIPs,
		ExternalTrafficPolicy:    spec.ExternalTrafficPolicy,
		HealthCheckNodePort:      spec.HealthCheckNodePort,

		Class:                         spec.LoadBalancerClass,
		ClusterIPs:                    spec.ClusterIPs,
		IPFamilies:                    spec.IPFamilies,
		IPFamilyPolicy:                spec.IPFamilyPolicy,
		AllocateLoadBalancerNodePorts: spec.AllocateLoadBalancerNodePorts,
		TrafficDistribution:           spec.TrafficDistribution,
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// othersOf returns the annotations without the daemon's own, from which no provider
// builds anything.
func othersOf(annotations map[string]string) map[string]string {
	if _, has := annotations[AnnotationClass]; !has {
		return annotations
	}
	others := map[string]string{}
	for key, value := range annotations {
		if key != AnnotationClass {
			others[key] = value
		}
	}
	if len(others) == 0 {
		return nil
	}
	return others
}

// shapeFor returns the name by which a failed call about the Service is
// remembered. It is the shape, or the UID if the load balancer is to be
// deleted, because a deletion does not depend on the shape.
func shapeFor(service *corev1.Service) string {
	if service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return "gone " + string(service.UID)
	}
	return shapeOf(service)
}

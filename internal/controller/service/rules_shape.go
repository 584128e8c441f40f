package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// shape is all of a Service that a provider may build its load balancer from.
// Upstream misses the fields of the second group; the table in
// docs/compared-with-upstream.md says why each is in or out.
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

// shapeOf names the shape of a Service: two Services of one name need the same
// load balancer.
func shapeOf(service *corev1.Service) string {
	spec := service.Spec
	text, err := json.Marshal(shape{
		Annotations:              service.Annotations,
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
	if err != nil {
		panic(err) // Plain data always encodes.
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// shapeFor is the name of what a step about the Service is tried with: the
// deletion of one that is going does not depend on its shape.
func shapeFor(service *corev1.Service) string {
	if service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return "gone " + string(service.UID)
	}
	return shapeOf(service)
}

package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// shape has all fields of a Service from which a provider may build the load balancer.
// Upstream does not compare the fields in the second group, except for the number of
// IPFamilies. For each field of a Service, the table in docs/compared-with-upstream.md
// says why shape has it or does not have it.
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

	// Digest has the changes of fields that a large Service has lost in the cache.
	Digest string
}

// operationDigest is kube.OperationDigest. This package must not import package kube in
// its rules. A test checks that both are equal.
const operationDigest = "Digest"

// digestOf returns the digest of a large Service that was cached without some fields,
// and the empty string for any other Service.
func digestOf(service *corev1.Service) string {
	for _, e := range service.ManagedFields {
		if e.Operation == operationDigest {
			return e.Manager
		}
	}
	return ""
}

// isWhole reports whether the Service has all fields from which a provider may build the
// load balancer. The cache drops the ports of each Service that is not served, and the
// API server demands a port of each Service of type LoadBalancer.
func isWhole(service *corev1.Service) bool {
	return len(service.Spec.Ports) > 0 && digestOf(service) == ""
}

// shapeOf returns a digest of a Service's shape. Two Services with the same shape
// need the same load balancer.
func shapeOf(service *corev1.Service) string {
	spec := service.Spec
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(shape{ // This cannot fail: plain data can always be encoded, and a hash accepts all data.
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

		Digest: digestOf(service),
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// othersOf returns the annotations without AnnotationClass. No provider builds anything
// from that annotation.
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

// shapeFor returns the shape to remember after a failed call about the Service. If the
// load balancer has to be deleted, shapeFor returns a text with the UID instead,
// because a deletion does not depend on the shape.
func shapeFor(service *corev1.Service) string {
	if service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return "gone " + string(service.UID)
	}
	return shapeOf(service)
}

package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

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

// shapeOf returns a digest of all fields of a Service from which a provider may build the
// load balancer. Two Services with the same shape need the same load balancer. A field
// that is not known to be without effect counts, so a field of a later Kubernetes does,
// too. The table in docs/compared-with-upstream.md has the reason for each field.
func shapeOf(service *corev1.Service) string {
	spec := service.Spec
	spec.Type, spec.Selector, spec.ExternalName = "", nil, ""
	spec.ClusterIP = "" // ClusterIPs has it, too.
	spec.PublishNotReadyAddresses, spec.InternalTrafficPolicy = false, nil
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{othersOf(service.Annotations), spec, digestOf(service)}) // This cannot fail: plain data can always be encoded, and a hash accepts all data.
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// othersOf returns the annotations without AnnotationClass. No provider builds anything
// from that annotation.
func othersOf(annotations map[string]string) map[string]string {
	others := maps.Clone(annotations)
	delete(others, AnnotationClass)
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
		return removalOf(service)
	}
	return shapeOf(service)
}

func removalOf(service *corev1.Service) string { return "gone " + string(service.UID) }

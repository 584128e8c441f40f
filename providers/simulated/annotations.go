package simulated

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of an annotation on a Service that this provider reads. A value
// that cannot be parsed leads to an error that names the key. An unknown key that
// begins with AnnotationPrefix also leads to an error, because it may be misspelled.
type Annotation string

// AnnotationPrefix is the prefix of the keys that only this provider uses.
const AnnotationPrefix = Name + ".fairlead.dev/"

// The annotations.
const (
	// AnnotationStaticIP is the name, ID or address of a static IP that was
	// reserved in the cloud. The load balancer uses that address, and the cloud
	// keeps the address when the Service is deleted. Without the annotation, the
	// load balancer has an address that is released when the load balancer is
	// deleted. The deprecated spec.loadBalancerIP has the same meaning, but its
	// value must be an address.
	AnnotationStaticIP Annotation = AnnotationPrefix + "static-ip"

	// AnnotationDrain is how long a removed node keeps its open connections. It is
	// a duration such as 30s, at most a day; 0s cuts the connections at once.
	// Without the annotation, the cloud decides.
	AnnotationDrain Annotation = AnnotationPrefix + "drain"

	// AnnotationSourceRanges lists the CIDRs from which traffic is accepted,
	// separated by commas. It is read only if spec.loadBalancerSourceRanges is
	// empty. If both are absent, traffic is accepted from everyone. An empty value
	// is an error, because it could mean everyone or no one.
	AnnotationSourceRanges Annotation = corev1.AnnotationLoadBalancerSourceRangesKey
)

// Annotations returns all annotations.
func Annotations() []Annotation {
	return []Annotation{AnnotationStaticIP, AnnotationDrain, AnnotationSourceRanges}
}

// maxDrain is the maximum value of AnnotationDrain.
const maxDrain = 24 * time.Hour

package simulated

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of an annotation on a Service that this provider
// reads. A value that cannot be parsed is an error that names the key. An
// unknown key that begins with AnnotationPrefix is also an error, because it may
// be a misspelled one.
type Annotation string

// AnnotationPrefix is the prefix of the keys that only this provider uses.
const AnnotationPrefix = Name + ".fairlead.dev/"

// The annotations.
const (
	// AnnotationStaticIP is the name, ID or address of a static IP that was
	// reserved in the cloud. The load balancer uses that address, and the cloud
	// keeps it when the Service is deleted. Without the annotation, the load
	// balancer has an address that is released with it. The deprecated
	// spec.loadBalancerIP has the same meaning, for an address only.
	AnnotationStaticIP Annotation = AnnotationPrefix + "static-ip"

	// AnnotationDrain is how long a removed node keeps its open connections, as
	// a duration such as 30s; 0s cuts them at once. Without the annotation, the
	// cloud decides.
	AnnotationDrain Annotation = AnnotationPrefix + "drain"

	// AnnotationSourceRanges lists the CIDRs from which traffic is accepted,
	// separated by commas. It is read only if spec.loadBalancerSourceRanges is
	// empty. Without both, traffic is accepted from everyone. An empty value is
	// an error, because it could mean everyone or no one.
	AnnotationSourceRanges Annotation = corev1.AnnotationLoadBalancerSourceRangesKey
)

// Annotations returns all annotations.
func Annotations() []Annotation {
	return []Annotation{AnnotationStaticIP, AnnotationDrain, AnnotationSourceRanges}
}

// of returns the value of the annotation on a Service; false if the Service does
// not have it.
func (a Annotation) of(service *corev1.Service) (string, bool) {
	value, ok := service.Annotations[string(a)]
	return strings.TrimSpace(value), ok
}

func (a Annotation) refuse(format string, args ...any) error {
	return invalidf("annotation "+string(a)+": "+format, args...)
}

// checkAnnotations refuses unknown keys with the prefix of this provider.
func checkAnnotations(service *corev1.Service) error {
	var unknown []string
	for key := range service.Annotations {
		if strings.HasPrefix(key, AnnotationPrefix) && !slices.Contains(Annotations(), Annotation(key)) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return Annotation(unknown[0]).refuse("is unknown; known are %s and %s", AnnotationStaticIP, AnnotationDrain)
}

// drainOf returns the drain time of a Service; nil if the cloud decides.
func drainOf(service *corev1.Service) (*time.Duration, error) {
	value, ok := AnnotationDrain.of(service)
	if !ok {
		return nil, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return nil, AnnotationDrain.refuse("%q is not a duration such as 30s", value)
	}
	return &d, nil
}

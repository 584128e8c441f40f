package simulated

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of an annotation on a Service that this provider
// reads. A value that cannot be understood is an error that names the key, and
// so is an unknown key that begins with AnnotationPrefix: a typing error
// must not open or close anything.
type Annotation string

// AnnotationPrefix begins the keys that are this provider's own.
const AnnotationPrefix = Name + ".fairlead.dev/"

// The annotations.
const (
	// AnnotationStaticIP gives the load balancer a static IP that was reserved
	// in the cloud, by its name, ID or address. The cloud keeps it when the
	// Service goes. Without the annotation, or once it is removed, the load
	// balancer has an address of its own, which goes with it. The deprecated
	// spec.loadBalancerIP means the same with an address.
	AnnotationStaticIP Annotation = AnnotationPrefix + "static-ip"

	// AnnotationDrain is how long connections to a removed node live on, as a
	// duration such as 30s; 0s cuts them at once. Without the annotation, or
	// once it is removed, the cloud decides.
	AnnotationDrain Annotation = AnnotationPrefix + "drain"

	// AnnotationSourceRanges is where traffic is accepted from, as CIDRs with commas
	// between them. It is only read where spec.loadBalancerSourceRanges is
	// empty. Without both it is everyone; an annotation that is there and empty
	// is an error, because it could mean everyone or no one.
	AnnotationSourceRanges Annotation = corev1.AnnotationLoadBalancerSourceRangesKey
)

// Annotations are all annotations.
func Annotations() []Annotation {
	return []Annotation{AnnotationStaticIP, AnnotationDrain, AnnotationSourceRanges}
}

// of returns the value on a Service; false if there is none.
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

// drainOf returns nil if the cloud decides.
func drainOf(service *corev1.Service) (*time.Duration, error) {
	value, ok := AnnotationDrain.of(service)
	if !ok {
		return nil, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return nil, AnnotationDrain.refuse("%q is no duration such as 30s", value)
	}
	return &d, nil
}

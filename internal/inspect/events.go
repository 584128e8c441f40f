package inspect

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Sources returns the components that the daemon names as the sources of its events.
// Other cloud-controller-managers name the same ones, and kube-controller-manager
// names "cidrAllocator".
func Sources() []string {
	return []string{
		"cloud-controller-manager", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-controller", "route_controller",
		"kubelet-serving-csr-controller", "persistent-volume-label-controller", "cidrAllocator",
	}
}

// IsDaemons reports whether the event names one of the daemon's components as its
// source. This is no proof: the API server does not check the name, so whoever may
// create events can forge it.
func IsDaemons(e *corev1.Event) bool { return slices.Contains(Sources(), Source(e)) }

// Source returns the source that an event names. If it names two, Source returns both.
func Source(e *corev1.Event) string {
	switch by, also := e.ReportingController, e.Source.Component; {
	case by == "":
		return also
	case also == "" || also == by:
		return by
	default:
		return by + ", " + also
	}
}

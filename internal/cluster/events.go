package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// EventSources returns the components that the daemon names as the sources of its events.
// Other cloud-controller-managers name the same ones, and kube-controller-manager
// names "cidrAllocator".
func EventSources() []string {
	return []string{
		"cloud-controller-manager", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-controller", "route_controller",
		"kubelet-serving-csr-controller", "persistent-volume-label-controller", "cidrAllocator",
	}
}

// IsDaemons reports whether the event names one of the daemon's components as its
// source. This is no proof: the API server does not check the name, so whoever may
// create events can forge it.
func IsDaemons(e *corev1.Event) bool { return slices.Contains(EventSources(), SourceOf(e)) }

// SourceOf returns the source that an event names. If it names two, SourceOf returns
// both.
func SourceOf(e *corev1.Event) string {
	switch by, also := e.ReportingController, e.Source.Component; {
	case by == "":
		return also
	case also == "" || also == by:
		return by
	default:
		return by + ", " + also
	}
}

// When returns the first and the last time of an event, and the number of times that it
// was recorded. The event can have the old form or the new one.
func When(e *corev1.Event) (first, last time.Time, times int) {
	first, last, times = e.FirstTimestamp.Time, e.LastTimestamp.Time, int(max(e.Count, 1))
	if first.IsZero() {
		first = e.EventTime.Time
	}
	if e.Series != nil {
		last, times = e.Series.LastObservedTime.Time, int(max(e.Series.Count, 1))
	}
	if last.IsZero() {
		last = first
	}
	return first, last, times
}

// LastTime returns the last time at which the event happened.
func LastTime(e *corev1.Event) time.Time {
	if _, last, _ := When(e); !last.IsZero() {
		return last
	}
	return e.CreationTimestamp.Time
}

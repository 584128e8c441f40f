package volume

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

var (
	reasonUnknown = message.Reason{
		Name: "VolumeTopologyUnknown", On: "PersistentVolume", Type: corev1.EventTypeWarning,
		When: "The cloud could not be asked for the volume's zone and region, or its answer cannot be used. The volume gets no labels. Recorded once, and again after 30 minutes.",
		Do:   "Read the cloud's error in the message. The cloud is asked again with growing pauses, up to 15 minutes. To place the volume yourself, set the labels and the node affinity of the PersistentVolume.",
	}
	reasonContradicted = message.Reason{
		Name: "VolumeTopologyContradicted", On: "PersistentVolume", Type: corev1.EventTypeWarning,
		When: "The node affinity of the volume contradicts the place that the cloud names: no node can satisfy both. The volume gets no labels, because with these labels its pods could not be scheduled anywhere.",
		Do:   "Check the volume's ID in the PersistentVolume. A node affinity cannot be changed, so create the PersistentVolume again, with the right node affinity or without any.",
	}
	reasonUnwritten = message.Reason{
		Name: "VolumeLabelsFailed", On: "PersistentVolume", Type: corev1.EventTypeWarning,
		When: "The API server refused the labels or the node affinity of the volume. The write is tried again with growing pauses, up to 15 minutes.",
		Do:   "Check the RBAC rules of the cloud-controller-manager, the admission policies and the webhooks.",
	}
)

// Reasons returns the reasons of all events of this controller.
func Reasons() []message.Reason {
	return []message.Reason{reasonUnknown, reasonContradicted, reasonUnwritten}
}

// held says why a volume is not labelled now.
type held struct {
	event message.Event
	pause time.Duration // the time that the cloud has asked to wait; 0: it did not ask
	slow  bool          // the call is still under way
}

// refusal returns the cause of the wait after a failed question to the cloud.
func refusal(a answer) held {
	event := reasonUnknown.Event(fmt.Sprintf("The cloud could not be asked for the zone and region of this volume, so it gets no labels. The cloud is asked again. (%s)", a.text))
	return held{event, a.pause, a.slow}
}

// unusable returns the cause of the wait after an answer that cannot be written.
func unusable(wrong string) held {
	return held{event: reasonUnknown.Event(fmt.Sprintf("The cloud's answer about this volume cannot be used: %s. The volume gets no labels. "+
		"The cloud is asked again. To place the volume yourself, set its labels and its node affinity.", wrong))}
}

// contradicted returns the cause of the wait after an answer that contradicts the
// volume's node affinity.
func contradicted(t topology) held {
	return held{event: reasonContradicted.Event(fmt.Sprintf("The cloud says that this volume is in %s, and its node affinity excludes all nodes there. "+
		"The volume gets no labels. Check the volume's ID. A node affinity cannot be changed, so create the PersistentVolume again.", t))}
}

// unwritten returns the cause of the wait after a write that the API server has
// refused.
func unwritten(err error) held {
	return held{event: reasonUnwritten.Event(fmt.Sprintf("The labels of this volume could not be written. "+
		"Check the cloud-controller-manager's RBAC rules, admission policies and webhooks. The write is retried. (%s)", message.Cut(err)))}
}

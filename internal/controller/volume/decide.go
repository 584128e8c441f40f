package volume

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// observed is the input of a decision.
type observed struct {
	now time.Time
	// volume is nil if it does not exist.
	volume *corev1.PersistentVolume
	memory memory
	// answer is the cloud's answer in this pass. It is nil before the cloud was
	// asked.
	answer *answer
}

// given is the kind of the cloud's answer about a volume. The zero value stands for no
// answer, so that an answer without a kind causes no write.
type given string

const (
	refused  given = ""         // no answer
	foreign  given = "foreign"  // the volume does not belong to the provider
	labelled given = "labelled" // the provider returns labels
)

// answer is the cloud's answer about one volume.
type answer struct {
	uid    types.UID // of the volume
	given  given
	labels map[string]string // only if given is labelled
	// The next three fields are set only if there is no answer.
	text  string        // the provider's own words
	pause time.Duration // the time that the cloud has asked to wait; 0: it did not ask
	slow  bool          // the call is still under way
}

// action is the next thing that a pass does.
type action string

const (
	forget action = "forget the volume"
	leave  action = "leave the volume as it is"
	wait   action = "wait"
	ask    action = "ask the cloud"
	write  action = "write labels and node affinity"
)

// plan is what to do about one volume, and why.
type plan struct {
	do  action
	why string

	// labels and affinity are written to the volume. A nil affinity is not written.
	labels   map[string]string
	affinity *corev1.VolumeNodeAffinity
	event    *message.Event
	// memory replaces the memory of the volume.
	memory memory
	// after is the time until the next decision. 0 means that the volume waits for a
	// change.
	after time.Duration
}

// decide returns the next action for the volume.
func decide(o observed) plan {
	if o.volume == nil {
		return plan{do: forget, why: "the volume does not exist"}
	}
	m := o.memory.of(o.volume)
	if why := volumefact.LeftAlone(o.volume); why != "" {
		return plan{do: leave, why: why, memory: m.withoutFailure()}
	}
	if o.answer == nil || o.answer.uid != o.volume.UID {
		if after, why := m.pause(o.now); after > 0 {
			return plan{do: wait, why: why, memory: m, after: after}
		}
		return plan{do: ask, why: "the volume has neither a zone nor a region", memory: m}
	}
	switch o.answer.given {
	case foreign:
		return plan{do: leave, why: "the volume does not belong to the provider", memory: m.withoutFailure()}
	case labelled:
		return label(o, m)
	case refused:
	}
	return hold(o, m, refusal(*o.answer))
}

// label returns the plan for a volume whose labels the provider has returned.
func label(o observed, m memory) plan {
	t, wrong := topologyOf(o.answer.labels)
	switch {
	case wrong != "":
		return hold(o, m, unusable(wrong))
	case !agrees(o.volume.Spec.NodeAffinity, t):
		return hold(o, m, contradicted(t))
	}
	p := plan{do: write, why: "the cloud says where the volume is", labels: t.labels(), memory: m.withoutFailure().wroteAt(o.now)}
	if o.volume.Spec.NodeAffinity == nil {
		p.affinity = t.affinity()
	}
	return p
}

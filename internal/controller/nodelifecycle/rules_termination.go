package nodelifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// termination is what the cloud has said about the end of a machine. The zero value means
// that nothing is known.
type termination struct {
	providerID string
	at         time.Time
	by         string // spot, health or user; empty if it is not known
}

// isOf reports whether this is the end of the Node's machine. If not, it says why. A
// report of the kubelet after that time shows that a machine still runs, or that a later
// one has the same provider ID. A Node without a provider ID could be of any machine that
// had its name.
func (t termination) isOf(node *corev1.Node, now time.Time) (proven bool, why string) {
	switch {
	case t == termination{}:
		return false, "the cloud does not list the instance as terminated"
	case node.Spec.ProviderID == "" || t.providerID != node.Spec.ProviderID:
		return false, "the instance that was terminated has another provider ID"
	case t.at.IsZero() || t.at.After(now):
		return false, "the time of the termination is not in the past"
	case !t.at.After(node.CreationTimestamp.Time):
		return false, "the instance was terminated before the Node was created"
	case !t.at.After(heartbeat(node)):
		return false, "the kubelet has reported since the instance was terminated"
	}
	return true, ""
}

// isTerminated reports whether the cloud's last answer is positive evidence: it has said
// "absent", and that the machine was terminated. This is enough for the final check.
func (e evidence) isTerminated() bool { return e.presence == absent && !e.terminated.at.IsZero() }

// termination describes the end of the instance for users.
func (e evidence) termination() string {
	text := "the cloud says that the instance was terminated at " + e.terminated.at.UTC().Format(time.DateTime) + " UTC"
	if by := e.terminated.by; by != "" {
		text += fmt.Sprintf(" (%s)", by)
	}
	return text
}

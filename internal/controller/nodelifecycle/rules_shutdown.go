package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// shutdownTaint returns the new taints of the Node. It returns nil if the taints are
// right, or if the power state is not known. If the kubelet of the Node reports, the
// caller passes the constant running.
func shutdownTaint(node *corev1.Node, p power) *[]corev1.Taint {
	has := slices.ContainsFunc(node.Spec.Taints, isShutdownTaint)
	var taints []corev1.Taint
	switch {
	case p == shutDown && !has:
		taints = append(slices.Clone(node.Spec.Taints), ownTaint())
	case p == running && has:
		taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), isShutdownTaint)
	default:
		return nil
	}
	return &taints
}

// tainted returns the plan after an attempt to write the taints in the plan. The event
// refusal reports a failed write, and is nil if there is nothing to report. The event
// is recorded only for the first failure in a row (promise V1).
func (p plan) tainted(refusal *message.Event) plan {
	if refusal != nil && !p.memory.untainted {
		p.events = append(p.events, *refusal)
	}
	p.memory.untainted = refusal != nil
	return p
}

func ownTaint() corev1.Taint {
	return corev1.Taint{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule}
}

// isShutdownTaint reports whether the taint is the one that this controller sets and
// removes. A taint with the same key and another effect belongs to somebody else.
func isShutdownTaint(t corev1.Taint) bool {
	return t.Key == api.TaintNodeShutdown && t.Effect == corev1.TaintEffectNoSchedule
}

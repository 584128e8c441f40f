package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// shutdownTaint returns the taints that the Node should have instead of its own, nil if
// it has the right ones or the power state is not known. The caller passes running for
// a Node whose kubelet reports.
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

// tainted returns the plan after its taints were written or refused. A refusal is
// recorded as an event, once until the taints are written (promise V1).
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

// isShutdownTaint reports whether this controller sets and removes the taint. A
// taint with the same key and another effect belongs to somebody else.
func isShutdownTaint(t corev1.Taint) bool {
	return t.Key == api.TaintNodeShutdown && t.Effect == corev1.TaintEffectNoSchedule
}

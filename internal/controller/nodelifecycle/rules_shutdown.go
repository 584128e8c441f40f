package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// shutdownTaint are the taints that the Node is to have instead of its own, nil
// where it has the right ones. A kubelet that reports runs on an instance that
// runs.
func shutdownTaint(node *corev1.Node, p power) *[]corev1.Taint {
	taint := corev1.Taint{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule}
	is := func(t corev1.Taint) bool { return t.MatchTaint(&taint) }
	has := slices.ContainsFunc(node.Spec.Taints, is)
	var taints []corev1.Taint
	switch {
	case p == shutDown && !has:
		taints = append(slices.Clone(node.Spec.Taints), taint)
	case p == running && has:
		taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), is)
	default:
		return nil
	}
	return &taints
}

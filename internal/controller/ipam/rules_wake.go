package ipam

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// wakes reports whether a change of a Node asks for a pass over the Node. It compares
// all fields of a Node that the function decide reads.
func wakes(claim ownership.Claim, before, now *corev1.Node) bool {
	return before.UID != now.UID ||
		!slices.Equal(cidrsOf(before), cidrsOf(now)) ||
		before.Annotations[AnnotationFence] != now.Annotations[AnnotationFence] ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		disowned(claim, before) != disowned(claim, now)
}

func disowned(claim ownership.Claim, node *corev1.Node) bool {
	_, is := claim.Disowns(node)
	return is
}

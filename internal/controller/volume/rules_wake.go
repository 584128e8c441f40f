package volume

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// wakes reports whether a pass over a volume is due after a change of the volume. It
// compares all fields that the function decide reads and that can change. It does not
// compare the place where the volume is stored, because the API server lets nobody
// change that. before is nil for a new volume.
func wakes(before, now *corev1.PersistentVolume) bool {
	return before == nil ||
		before.UID != now.UID ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		volumefact.HasTopology(before) != volumefact.HasTopology(now) ||
		!apiequality.Semantic.DeepEqual(before.Spec.NodeAffinity, now.Spec.NodeAffinity)
}

package certificate

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// wakes reports whether a change of a Node asks for a pass over the Node's requests. It
// does so if a decision reads the changed field. The Node's addresses are not evidence,
// but when they change, the addresses in the cloud have probably changed, too.
func wakes(claim ownership.Claim, before, now *corev1.Node) bool {
	return wakesHolders(before, now) ||
		whyAlone(claim, before) != whyAlone(claim, now) ||
		before.Labels[nodefact.LabelIdentity] != now.Labels[nodefact.LabelIdentity] ||
		!slices.Equal(before.Status.Addresses, now.Status.Addresses)
}

// wakesHolders reports whether a change of a Node asks for a pass over the requests of
// other Nodes that claim the same instance.
func wakesHolders(before, now *corev1.Node) bool {
	return before.UID != now.UID || before.Spec.ProviderID != now.Spec.ProviderID
}

// whyAlone returns the reason why the Node is left alone, or an empty string if the
// Node is not left alone.
func whyAlone(claim ownership.Claim, node *corev1.Node) string {
	why, _ := claim.LeavesAlone(node)
	return why
}

// wakesRequest reports whether a change of a request asks for a pass. The content of a
// request never changes.
func wakesRequest(before, now *certificatesv1.CertificateSigningRequest) bool {
	return before.UID != now.UID || requestfact.IsDecided(before) != requestfact.IsDecided(now)
}

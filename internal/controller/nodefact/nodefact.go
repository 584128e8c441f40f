// Package nodefact reads facts from a Node for the rules of several controllers:
// conditions, taints, labels, the scheme of the provider ID.
//
// It is pure: rules and decisions may import it.
package nodefact

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
)

// TaintToBeDeleted is set by cluster-autoscaler on a Node that it is about to
// remove.
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// announcingConditions are the conditions by which an admin announces the removal of
// a Node (KEP-5683). The kubelet of the Node can write them, too.
var announcingConditions = []corev1.NodeConditionType{corev1.NodeDrained, corev1.NodeMaintenanceInProgress}

// HasLabel reports whether the Node has the label with a value other than "false".
// Kubernetes reads node.kubernetes.io/exclude-from-external-load-balancers in the same
// way.
func HasLabel(node *corev1.Node, key string) bool {
	value, ok := node.Labels[key]
	if !ok {
		return false
	}
	says, err := strconv.ParseBool(value)
	return err != nil || says
}

// HasTaint reports whether the Node has a taint with the key, whatever its value
// and effect.
func HasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// IsUninitialized reports whether the Node still waits to be initialised by a
// cloud-controller-manager.
func IsUninitialized(node *corev1.Node) bool { return HasTaint(node, api.TaintExternalCloudProvider) }

// IsAnnouncedByCondition reports whether a condition of the Node says that it is
// drained or that its maintenance is in progress.
func IsAnnouncedByCondition(node *corev1.Node) bool {
	return slices.ContainsFunc(announcingConditions, func(kind corev1.NodeConditionType) bool {
		c := Condition(node, kind)
		return c != nil && c.Status == corev1.ConditionTrue
	})
}

// Reports reports whether the Node's kubelet has reported, and is not silent by now.
func Reports(node *corev1.Node) bool {
	ready := Condition(node, corev1.NodeReady)
	return ready != nil && ready.Status != corev1.ConditionUnknown
}

// Condition returns the Node's condition of this type, or nil if there is none.
func Condition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// SameCondition reports whether two conditions are the same. nil stands for no
// condition. SameCondition runs for each heartbeat of each Node. So it allocates
// nothing, unlike the comparisons of Kubernetes.
func SameCondition(a, b *corev1.NodeCondition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastHeartbeatTime.Equal(&b.LastHeartbeatTime) && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// SameTaints reports whether two lists of taints are the same. It allocates
// nothing.
func SameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool {
		return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
	})
}

// Scheme returns the part of the provider ID that names the provider, such as "aws"
// in aws:///zone/i-1. It returns an empty string if the Node has no provider ID, or
// if the provider ID has no "://".
func Scheme(node *corev1.Node) string {
	scheme, _, found := strings.Cut(node.Spec.ProviderID, "://")
	if !found {
		return ""
	}
	return scheme
}

// LabelIdentity marks a Node whose provider ID this manager has written itself.
// Identity returns the value of the label. A kubelet cannot set, change or remove the
// label, because the admission plugin NodeRestriction refuses that.
const LabelIdentity = "fairlead.node-restriction.kubernetes.io/identity"

// Identity returns the value of LabelIdentity for a Node with this UID and provider
// ID.
func Identity(node types.UID, providerID string) string {
	sum := sha256.Sum256([]byte(string(node) + "\n" + providerID))
	return hex.EncodeToString(sum[:16])
}

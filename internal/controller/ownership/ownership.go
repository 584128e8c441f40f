// Package ownership has the rule that says whose Node a Node is. The controllers
// leave alone what is not theirs: promise S4 e.
//
// It is pure: rules and decisions may import it.
package ownership

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Labels of Nodes that no rule may touch. The value false means no label.
const (
	// LabelExclude may be set by anybody who may write the Node, also by its own
	// kubelet.
	LabelExclude = "fairlead.dev/exclude"
	// LabelExcludeRestricted cannot be set, changed or removed by a kubelet: the
	// admission plugin NodeRestriction refuses that.
	LabelExcludeRestricted = "fairlead.node-restriction.kubernetes.io/exclude"
)

// Claim says which Nodes a daemon treats as its own. The zero value claims all
// that are not labelled as excluded.
type Claim struct {
	// RestrictedLabels honours only labels that kubelets cannot set.
	RestrictedLabels bool
}

// Disowns reports whether the Node is not this daemon's, and why.
func (c Claim) Disowns(node *corev1.Node) (why string, disowned bool) {
	if label := c.ExcludedBy(node); label != "" {
		return "the Node is labelled " + label, true
	}
	return "", false
}

// LeavesAlone reports whether no rule may touch the Node, and why.
func (c Claim) LeavesAlone(node *corev1.Node) (why string, alone bool) {
	if node.DeletionTimestamp != nil {
		return "the Node is being deleted", true
	}
	return c.Disowns(node)
}

// ExcludedBy returns the label that excludes the Node, empty if none does.
func (c Claim) ExcludedBy(node *corev1.Node) string {
	switch {
	case nodefact.HasLabel(node, LabelExcludeRestricted):
		return LabelExcludeRestricted
	case !c.RestrictedLabels && nodefact.HasLabel(node, LabelExclude):
		return LabelExclude
	default:
		return ""
	}
}

// Ignored returns the label that would exclude the Node if labels that a kubelet
// can set were honoured, empty if there is none.
func (c Claim) Ignored(node *corev1.Node) string {
	if c.RestrictedLabels && nodefact.HasLabel(node, LabelExclude) {
		return LabelExclude
	}
	return ""
}

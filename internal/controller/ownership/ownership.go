// Package ownership has the rule that decides who owns a Node. The controllers leave
// a Node alone if it does not belong to this daemon (promise S4 e).
//
// It has only pure functions, so rules and decisions may import it.
package ownership

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Labels that exclude a Node. No rule may touch an excluded Node. A label with the
// value "false" does not count.
const (
	// LabelExclude can be set by anybody who may write the Node, including the Node's
	// own kubelet.
	LabelExclude = "fairlead.dev/exclude"
	// LabelExcludeRestricted cannot be set, changed or removed by a kubelet, because
	// the admission plugin NodeRestriction refuses that.
	LabelExcludeRestricted = "fairlead.node-restriction.kubernetes.io/exclude"
)

// Labels that name the provider of a Node. The value "none" means that the Node has no
// provider.
const (
	LabelProvider           = "fairlead.dev/provider"
	LabelProviderRestricted = "fairlead.node-restriction.kubernetes.io/provider"
	noProvider              = "none"
)

// Owner says who owns a Node. The controllers leave a Node alone if its owner is
// Foreign or Nobody.
type Owner string

// The owners, as this daemon sees them.
const (
	Mine    Owner = "mine"
	Foreign Owner = "foreign" // of another provider
	Nobody  Owner = "nobody"  // of no provider
	Unknown Owner = "unknown" // the cloud has to be asked
)

// Doubt is a reason not to delete a Node whose owner is Unknown, even if the cloud
// says that its instance does not exist.
type Doubt string

// The doubts.
const (
	// NeverInitialized is the doubt about a Node that has no provider ID and does not
	// wait to be initialised, although Nodes of this cloud have provider IDs.
	NeverInitialized Doubt = "never initialised"
	// NeverConfirmed is the doubt about a Node whose provider ID has an unknown
	// scheme: no flag lists the scheme, and the provider has never confirmed a Node
	// with that scheme.
	NeverConfirmed Doubt = "never confirmed"
)

// Verdict is the answer of the rule.
type Verdict struct {
	Owner Owner
	Why   string
	Doubt Doubt // only about Nodes whose Owner is Unknown; empty if there is no doubt
}

// Claim says which Nodes a daemon treats as its own. The zero value disowns only Nodes
// that a label excludes or assigns to a provider. The fields Nodes, Schemes and
// Selector can disown more Nodes.
type Claim struct {
	// RestrictedLabels makes this daemon ignore labels that kubelets can set.
	RestrictedLabels bool
	// Providers are the values of LabelProvider that stand for this daemon. The
	// fields below do not disown a Node with one of these values.
	Providers []string
	// The function Nodes, if not nil, returns false for a Node that does not belong to
	// this daemon. Its result must depend only on the Node.
	Nodes func(*corev1.Node) bool
	// Schemes are the provider-ID schemes that this daemon's Nodes can have. If
	// Schemes is empty, all schemes are allowed.
	Schemes []string
	// Selector, if not nil, matches the labels of this daemon's Nodes.
	Selector labels.Selector
}

// Known has the facts that a controller has learnt about the Nodes of the cluster.
type Known struct {
	// Confirmed has the provider-ID schemes of all Nodes that the provider has
	// confirmed.
	Confirmed map[string]bool
	// HasIDs means that the Nodes of this cloud have provider IDs.
	HasIDs bool
}

// Owner returns the verdict about the owner of a Node. The first rule that applies
// decides.
func (c Claim) Owner(node *corev1.Node, known Known) Verdict {
	id, scheme := node.Spec.ProviderID, nodefact.Scheme(node)
	switch disowned := c.disowned(node); {
	case disowned != nil:
		return *disowned
	case id == "" && nodefact.IsUninitialized(node):
		return Verdict{Owner: Unknown, Why: "the Node waits to be initialised"}
	case id == "" && known.HasIDs:
		return Verdict{Owner: Unknown, Why: "the Node has no provider ID and was not initialised by a cloud-controller-manager", Doubt: NeverInitialized}
	case id == "":
		return Verdict{Owner: Unknown, Why: "the Node has no provider ID"}
	case slices.Contains(c.Schemes, scheme):
		return Verdict{Owner: Mine, Why: "the scheme of its provider ID belongs to this daemon"}
	case known.Confirmed[scheme]:
		return Verdict{Owner: Mine, Why: "the provider has confirmed a Node with such a provider ID"}
	default:
		return Verdict{Owner: Unknown, Why: "the provider has not confirmed any Node with such a provider ID", Doubt: NeverConfirmed}
	}
}

// disowned returns the verdict about a Node that does not belong to this daemon,
// whatever the cloud says. It returns nil for other Nodes.
func (c Claim) disowned(node *corev1.Node) *Verdict {
	label, provider := c.providerLabel(node)
	switch excluded := c.excludedBy(node); {
	case excluded != "":
		return &Verdict{Owner: Nobody, Why: "the Node is labelled " + excluded}
	case provider == noProvider:
		return &Verdict{Owner: Nobody, Why: fmt.Sprintf("the Node is labelled %s=%s", label, provider)}
	case label != "" && slices.Contains(c.Providers, provider):
		return nil
	case label != "":
		return &Verdict{Owner: Foreign, Why: fmt.Sprintf("the Node is labelled %s=%s", label, provider)}
	default:
		return c.notClaimed(node)
	}
}

// notClaimed returns the verdict about a Node that the settings disown. It returns
// nil for other Nodes.
func (c Claim) notClaimed(node *corev1.Node) *Verdict {
	id := node.Spec.ProviderID
	switch {
	case c.Nodes != nil && !c.Nodes(node):
		return &Verdict{Owner: Foreign, Why: "the filter of this program leaves the Node out"}
	case id != "" && len(c.Schemes) > 0 && !slices.Contains(c.Schemes, nodefact.Scheme(node)):
		return &Verdict{Owner: Foreign, Why: fmt.Sprintf("the provider ID %q is not one of --own-provider-id-schemes=%s", id, strings.Join(c.Schemes, ","))}
	case c.Selector == nil || c.Selector.Matches(labels.Set(node.Labels)):
		return nil
	case id != "":
		return &Verdict{Owner: Foreign, Why: "--own-node-selector does not match the Node"}
	default:
		return &Verdict{Owner: Nobody, Why: "--own-node-selector does not match the Node"}
	}
}

// Disowns reports whether the Node does not belong to this daemon, and why.
func (c Claim) Disowns(node *corev1.Node) (why string, disowned bool) {
	if v := c.disowned(node); v != nil {
		return v.Why, true
	}
	return "", false
}

// LeavesAlone reports whether every rule must leave the Node alone, and why.
func (c Claim) LeavesAlone(node *corev1.Node) (why string, alone bool) {
	if node.DeletionTimestamp != nil {
		return "the Node is being deleted", true
	}
	return c.Disowns(node)
}

// Label returns the label that disowns the Node, or an empty string if no label does.
func (c Claim) Label(node *corev1.Node) string {
	if excluded := c.Excludes(node); excluded != "" {
		return excluded
	}
	label, provider := c.providerLabel(node)
	if slices.Contains(c.Providers, provider) {
		return ""
	}
	return label
}

// Excludes returns the label that keeps the Node from every daemon, whatever its cloud: it
// excludes the Node, or says that the Node has no provider. It returns an empty string if
// there is no such label. Tools that do not know the settings of a daemon ask the zero
// Claim, which ignores no label.
func (c Claim) Excludes(node *corev1.Node) string {
	if excluded := c.excludedBy(node); excluded != "" {
		return excluded
	}
	if label, provider := c.providerLabel(node); provider == noProvider {
		return label
	}
	return ""
}

// Ignored returns a label of the Node that this daemon ignores because RestrictedLabels
// is true, or an empty string if there is none.
func (c Claim) Ignored(node *corev1.Node) string {
	_, named := node.Labels[LabelProvider]
	switch {
	case !c.RestrictedLabels:
		return ""
	case nodefact.HasLabel(node, LabelExclude):
		return LabelExclude
	case named:
		return LabelProvider
	default:
		return ""
	}
}

// excludedBy returns the label that excludes the Node, or an empty string if no label
// does.
func (c Claim) excludedBy(node *corev1.Node) string {
	switch {
	case nodefact.HasLabel(node, LabelExcludeRestricted):
		return LabelExcludeRestricted
	case !c.RestrictedLabels && nodefact.HasLabel(node, LabelExclude):
		return LabelExclude
	default:
		return ""
	}
}

// providerLabel returns the label that names the Node's provider, and the value of
// that label. Both are empty if there is no such label.
func (c Claim) providerLabel(node *corev1.Node) (label, provider string) {
	if provider, ok := node.Labels[LabelProviderRestricted]; ok {
		return LabelProviderRestricted, provider
	}
	if provider, ok := node.Labels[LabelProvider]; ok && !c.RestrictedLabels {
		return LabelProvider, provider
	}
	return "", ""
}

package settings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// ownershipHeading is the heading of the flags that say which Nodes belong to this
// daemon.
const ownershipHeading = "node ownership"

const (
	flagSchemes       = "own-provider-id-schemes"
	flagSelector      = "own-node-selector"
	flagProviderLabel = "own-provider-label"
)

// Ownership has the settings that say which Nodes belong to this daemon.
type Ownership struct {
	provider   *Provider
	nodes      func(*corev1.Node) bool // the program's filter, or nil
	restricted bool
	schemes    []string
	selector   string
	labels     []string
}

func (o *Ownership) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(ownershipHeading)
	fs.StringSliceVar(&o.schemes, flagSchemes, o.schemes,
		"Schemes of this cloud's provider IDs, such as 'hcloud' for hcloud://1. A node with another provider ID is left alone. Empty: every scheme may be this cloud's.")
	fs.StringVar(&o.selector, flagSelector, o.selector,
		"Label selector of this daemon's nodes. All other nodes are left alone. Kubelets cannot set labels under node-restriction.kubernetes.io. Empty: all nodes match.")
	fs.StringSliceVar(&o.labels, flagProviderLabel, o.labels,
		"Values of the label "+ownership.LabelProvider+" that mean this daemon. A node with another value is left alone. A node with one of these values is not left alone, whatever the other flags say. Empty: the name in --cloud-provider.")
	fs.BoolVar(&o.restricted, "node-restricted-labels-only", o.restricted,
		"Honour only "+ownership.LabelExcludeRestricted+" and "+ownership.LabelProviderRestricted+", which kubelets cannot set. Ignore "+
			ownership.LabelExclude+" and "+ownership.LabelProvider+".")
}

func (o *Ownership) validate() []error {
	var errs []error
	for _, scheme := range o.schemes {
		if scheme == "" || strings.ContainsAny(scheme, ":/ ") {
			errs = append(errs, fmt.Errorf("--%s: %q is not the part of a provider ID before ://", flagSchemes, scheme))
		}
	}
	if _, err := labels.Parse(o.selector); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", flagSelector, err))
	}
	for _, value := range o.labels {
		if value == "" || len(validation.IsValidLabelValue(value)) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %q is not a valid label value", flagProviderLabel, value))
		}
	}
	return errs
}

// ownershipConfiguration is the NodeOwnership part of /configz.
type ownershipConfiguration struct {
	OwnProviderIDSchemes     []string
	OwnNodeSelector          string
	OwnProviderLabel         []string
	NodeRestrictedLabelsOnly bool
}

func (o *Ownership) show(c *configuration) {
	c.NodeOwnership = ownershipConfiguration{
		OwnProviderIDSchemes: o.schemes, OwnNodeSelector: o.selector, OwnProviderLabel: o.names(), NodeRestrictedLabelsOnly: o.restricted,
	}
}

// names returns the values of ownership.LabelProvider that stand for this daemon.
func (o *Ownership) names() []string {
	if len(o.labels) > 0 {
		return o.labels
	}
	return []string{o.provider.Name}
}

// Claim returns the rules by which the controllers recognise this daemon's Nodes.
// The flags must be valid.
func (o *Ownership) Claim() ownership.Claim {
	c := ownership.Claim{RestrictedLabels: o.restricted, Providers: o.names(), Nodes: o.nodes, Schemes: o.schemes}
	if selector, err := labels.Parse(o.selector); err == nil && !selector.Empty() {
		c.Selector = selector
	}
	return c
}

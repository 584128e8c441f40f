package settings

import (
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// ownershipHeading is the heading of the flags that say whose Nodes are whose.
const ownershipHeading = "node ownership"

// Ownership says which Nodes are this daemon's.
type Ownership struct {
	restricted bool
}

func (o *Ownership) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(ownershipHeading)
	fs.BoolVar(&o.restricted, "node-restricted-labels-only", o.restricted,
		"Of the labels by which a node is excluded, honour only "+ownership.LabelExcludeRestricted+", which kubelets cannot set, and not "+ownership.LabelExclude+".")
}

func (*Ownership) validate() []error { return nil }

// ownershipConfiguration is the NodeOwnership part of /configz.
type ownershipConfiguration struct {
	NodeRestrictedLabelsOnly bool
}

func (o *Ownership) show(c *configuration) {
	c.NodeOwnership.NodeRestrictedLabelsOnly = o.restricted
}

// Claim returns what the controllers treat as their own.
func (o *Ownership) Claim() ownership.Claim { return ownership.Claim{RestrictedLabels: o.restricted} }

package app

import (
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
)

// options are the settings of the daemon, one group for each concern.
type options struct {
	debugging   debuggingOptions
	controllers controllerOptions
	election    electionOptions
	provider    providerOptions
	node        nodeOptions
	lifecycle   lifecycleOptions
	service     serviceOptions
	serving     servingOptions
	client      clientOptions
	features    featureOptions
	global      globalOptions
}

// A group owns the flags of one concern, their defaults, their rules, and what
// /configz shows of them. A new setting is a change of its group alone.
type group interface {
	addFlags(sections *cliflag.NamedFlagSets)
	validate() []error
	show(c *configuration)
}

func newOptions(name string, known table) *options {
	return &options{
		debugging:   newDebuggingOptions(),
		controllers: newControllerOptions(known),
		election:    newElectionOptions(),
		provider:    newProviderOptions(),
		node:        newNodeOptions(),
		lifecycle:   newLifecycleOptions(),
		service:     newServiceOptions(),
		serving:     newServingOptions(),
		client:      newClientOptions(),
		features:    newFeatureOptions(),
		global:      newGlobalOptions(name),
	}
}

func (o *options) groups() []group {
	return []group{
		&o.debugging, &o.controllers, &o.election, &o.provider, &o.node, &o.lifecycle, &o.service,
		&o.serving, &o.client, &o.features, &o.global,
	}
}

// flags returns all flags under the headings of the help text, whose order is
// upstream's and does not depend on the order of the groups.
func (o *options) flags() cliflag.NamedFlagSets {
	sections := cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	for _, heading := range []string{
		"debugging", "generic", nodeController, nodeLifecycleController, serviceController,
		"secure serving", "authentication", "authorization", "misc", "global",
	} {
		sections.FlagSet(heading)
	}
	for _, g := range o.groups() {
		g.addFlags(&sections)
	}
	return sections
}

func (o *options) validate() error {
	var errs []error
	for _, g := range o.groups() {
		errs = append(errs, g.validate()...)
	}
	return utilerrors.NewAggregate(errs)
}

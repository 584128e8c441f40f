package app

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
)

// options are the settings of the daemon, one group for each concern.
type options struct {
	program     Program
	wrong       []error        // with the program itself
	flagSet     *pflag.FlagSet // all flags, nil before they are made
	debugging   debuggingOptions
	controllers controllerOptions
	election    electionOptions
	provider    providerOptions
	node        nodeOptions
	lifecycle   lifecycleOptions
	service     serviceOptions
	route       routeOptions
	serving     servingOptions
	migration   migrationOptions
	rotation    rotationOptions
	webhooks    webhookOptions
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

func newOptions(p Program, ours table) *options {
	known := p.controllers(ours)
	o := &options{
		program:     p,
		wrong:       p.errors(known),
		debugging:   newDebuggingOptions(),
		controllers: newControllerOptions(known),
		election:    newElectionOptions(),
		provider:    newProviderOptions(p.ProviderName),
		node:        newNodeOptions(),
		lifecycle:   newLifecycleOptions(),
		service:     newServiceOptions(),
		route:       newRouteOptions(),
		serving:     newServingOptions(),
		client:      newClientOptions(),
		features:    newFeatureOptions(),
		global:      newGlobalOptions(p.Name),
	}
	o.migration = migrationOptions{election: &o.election}
	o.rotation = rotationOptions{provider: &o.provider, period: 10 * time.Second}
	o.webhooks = newWebhookOptions(p.webhooks(), &o.serving)
	return o
}

func (o *options) groups() []group {
	return []group{
		&o.debugging, &o.controllers, &o.election, &o.migration, &o.provider, &o.rotation, &o.node, &o.lifecycle, &o.service, &o.route,
		&o.serving, &o.webhooks, &o.client, &o.features, &o.global,
	}
}

// flags returns all flags under the headings of the help text, whose order is
// upstream's and does not depend on the order of the groups.
func (o *options) flags() cliflag.NamedFlagSets {
	sections := cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	for _, heading := range []string{
		"debugging", "leader-migration", "generic", nodeController, nodeLifecycleController, serviceController, routeController,
		"webhook", "webhook serving", "secure serving", "authentication", "authorization", "misc", "global",
	} {
		sections.FlagSet(heading)
	}
	for _, g := range o.groups() {
		g.addFlags(&sections)
	}
	o.addOwn(&sections)
	o.flagSet = pflag.NewFlagSet(o.program.Name, pflag.ContinueOnError)
	o.flagSet.SetNormalizeFunc(sections.NormalizeNameFunc)
	for _, fs := range sections.FlagSets {
		o.flagSet.AddFlagSet(fs)
	}
	return sections
}

// addOwn adds the program's own flags.
func (o *options) addOwn(sections *cliflag.NamedFlagSets) {
	ours := map[string]bool{}
	for _, fs := range sections.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) { ours[f.Name] = true })
	}
	for _, heading := range o.program.Flags.Order {
		own := o.program.Flags.FlagSets[heading]
		own.VisitAll(func(f *pflag.Flag) {
			if ours[f.Name] {
				o.wrong = append(o.wrong, fmt.Errorf("the program's own flag --%s exists already", f.Name))
			}
		})
		sections.FlagSet(heading).AddFlagSet(own)
	}
}

// files are the flags that name a file which is read at start.
var files = []string{
	"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "cloud-config", "kubeconfig", "requestheader-client-ca-file",
	"tls-cert-file", "tls-private-key-file", "webhook-tls-cert-file", "webhook-tls-private-key-file",
}

// validate finds all that is wrong at once. The flags must have been parsed.
func (o *options) validate() error {
	errs := slices.Clone(o.wrong)
	for _, g := range o.groups() {
		errs = append(errs, g.validate()...)
	}
	for _, name := range files {
		if file := o.flagSet.Lookup(name).Value.String(); file != "" {
			if err := readable(file); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", name, err))
			}
		}
	}
	return utilerrors.NewAggregate(errs)
}

func readable(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder", file)
	}
	return nil
}

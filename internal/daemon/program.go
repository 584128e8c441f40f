package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	theirs "github.com/fairlead-k8s/fairlead/provider"
)

// Options are the choices and additions of a program. Package ccm documents each field.
type Options struct {
	Name         string
	Version      string
	ProviderName string
	Defaults     map[string]string
	Provider     func(ctx context.Context, d ProviderDeps) (cloudprovider.Interface, error)
	Classify     func(error) theirs.Classification
	Flags        cliflag.NamedFlagSets
	Nodes        func(node *corev1.Node) bool
	Without      []string
	With         []string
	ClientNames  map[string]string
	Controllers  []Controller
	Webhooks     []Webhook
	Metrics      []prometheus.Gatherer
	Stopped      func(ctx context.Context)
}

// ProviderDeps has the values from which a provider can be made.
type ProviderDeps = provider.Deps

// Controller is a controller that the program adds.
type Controller struct {
	Name         string
	Alias        string
	ClientName   string
	OffByDefault bool
	Flags        []string
	New          func(ctx context.Context, d ControllerDeps) (Runner, error)
}

// Runner is a controller of the program.
type Runner interface {
	// Run waits for the caches that it needs, and works until ctx ends. Then it
	// waits for its work to return, except for calls that only read. If Run returns
	// before ctx has ended, that is a failure and ends the process.
	Run(ctx context.Context) error
}

// ControllerDeps has the values from which a controller of the program can be made.
type ControllerDeps struct {
	Cloud     cloudprovider.Interface
	Client    kubernetes.Interface
	Clients   cloudprovider.ControllerClientBuilder
	Informers informers.SharedInformerFactory
	Events    record.EventRecorder
	Flags     *pflag.FlagSet
}

// Webhook is a webhook that the program adds.
type Webhook = serving.Webhook

// Skip returns the error of a controller that has nothing to do.
func Skip(why string) error { return skip(why) }

// Program has our controllers, the program's additions, and the flags of all of
// them.
type Program struct {
	Options  Options
	Settings *settings.Settings
	Self     provider.Self // how this process was started; the zero value unless it may start itself again

	ours        table      // all of Fairlead's controllers
	controllers table      // the controllers of ours that the program keeps, then its own
	looks       *Spectator // nil unless the process only reads
}

// New returns a program that is not configured yet: its flags have no values.
func New(o Options) *Program { return newProgram(o, ours()) }

func newProgram(o Options, ours table) *Program {
	p := &Program{Options: o, ours: ours}
	for _, r := range ours {
		r = o.changed(r)
		if !slices.ContainsFunc(o.Without, r.called) && !r.yieldsTo(o.Controllers) {
			p.controllers = append(p.controllers, r)
		}
	}
	for _, c := range o.Controllers {
		p.controllers = append(p.controllers, added(c))
	}
	read := map[string]string{}
	for _, c := range o.Controllers {
		for _, flag := range c.Flags {
			read[flag] = c.Name
		}
	}
	var webhooks []string
	for _, w := range o.Webhooks {
		webhooks = append(webhooks, w.Name)
	}
	p.Settings = settings.New(settings.Program{
		Name:        o.Name,
		Version:     o.Version,
		Provider:    o.ProviderName,
		Defaults:    o.Defaults,
		Read:        read,
		Nodes:       o.Nodes,
		Flags:       o.Flags,
		Controllers: p.controllers.names(),
		Webhooks:    webhooks,
	})
	return p
}

// changed returns a controller of Fairlead as the program wants it.
func (o Options) changed(r registration) registration {
	r.OffByDefault = r.OffByDefault && !slices.ContainsFunc(o.With, r.called)
	for name, client := range o.ClientNames {
		if r.called(name) {
			r.ClientName = client
		}
	}
	return r
}

// Spectator makes a process that only reads. What the process and its provider would
// have written is refused.
type Spectator struct {
	// Refused is called with each write to the cluster or to the cloud that was refused.
	Refused func(what string)
	// Denied is called with each request that the API server has refused, because a
	// right is missing.
	Denied func(request string)
	// Look is called in place of leading. It looks until ctx ends.
	Look func(ctx context.Context, p *Process)
}

// OnlyLook changes the program into one that only reads, and takes part in no election.
func (p *Program) OnlyLook(s Spectator) {
	p.looks = &s
	p.Settings.Election.LeaderElect = false
	p.Settings.Client.EachItsOwn = false // Otherwise tokens of service accounts would have to be created.
}

// ControllerNames returns the names of all controllers that the program has.
func (p *Program) ControllerNames() (names []string) {
	for _, r := range p.controllers {
		names = append(names, r.Name)
	}
	return names
}

// webhooks returns the webhooks that --webhooks chooses.
func (p *Program) webhooks() []Webhook {
	chosen := p.Settings.Webhooks.Served()
	var all []Webhook
	for _, w := range p.Options.Webhooks {
		if slices.Contains(chosen, w.Name) {
			all = append(all, w)
		}
	}
	return all
}

// stopTimeout bounds the call of Options.Stopped.
const stopTimeout = 5 * time.Second

// stopped calls the program's Stopped before the process ends. It waits for
// stopTimeout at most, even if the program ignores its context. If the lease is lost,
// another replica may lead, so the process ends at once.
func (p *Program) stopped(ctx context.Context, why error) {
	if p.Options.Stopped == nil || errors.Is(why, election.ErrLeaseLost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		p.Options.Stopped(ctx)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		klog.FromContext(ctx).Info("Warning: the program's Stopped has not returned; the process ends without it")
	}
}

// enabled returns the controllers to run, in the order of their start.
func (p *Program) enabled() table {
	var all table
	for _, c := range p.Settings.Controllers.Enabled() {
		all = append(all, p.controllers.find(c.Name))
	}
	return all
}

// Validate returns all errors of the program and its flags.
func (p *Program) Validate() error { return p.wrong(p.Settings.Validate()) }

// ValidateUnserved does the same as Validate, for a process that serves nothing.
func (p *Program) ValidateUnserved() error { return p.wrong(p.Settings.ValidateUnserved()) }

// wrong adds the errors of the program itself to those of its settings.
func (p *Program) wrong(settings []error) error {
	errs := append(p.controllerErrors(), p.webhookErrors()...)
	if name := p.Settings.Provider.Name; name != "" && p.Options.Provider == nil {
		if err := cloud.CheckRegistered(name); err != nil {
			errs = append(errs, err)
		}
	}
	return utilerrors.NewAggregate(append(errs, settings...))
}

func (p *Program) controllerErrors() []error {
	errs := p.clashes()
	for _, option := range []struct {
		name  string
		names []string
	}{{"Without", p.Options.Without}, {"With", p.Options.With}, {"ClientNames", slices.Sorted(maps.Keys(p.Options.ClientNames))}} {
		for _, name := range option.names {
			if !slices.ContainsFunc(p.ours, func(r registration) bool { return r.called(name) }) {
				errs = append(errs, fmt.Errorf("Options.%s names %q, but Fairlead has no such controller; it has %s", option.name, name, p.ours))
			}
		}
	}
	for name, client := range p.Options.ClientNames {
		if len(validation.NameIsDNSSubdomain(client, false)) > 0 {
			errs = append(errs, fmt.Errorf("Options.ClientNames: %q of %s cannot be the name of a service account", client, name))
		}
	}
	for _, c := range p.Options.Controllers {
		if c.Name == "" || c.New == nil {
			errs = append(errs, fmt.Errorf("the program's controller %q needs a name and a function that makes it", c.Name))
		}
	}
	return errs
}

// clashes returns an error for each name or alias that two controllers have.
func (p *Program) clashes() []error {
	var errs []error
	taken := map[string]registration{}
	for _, r := range p.controllers {
		for _, name := range []string{r.Name, r.Alias} {
			other, ok := taken[name]
			switch {
			case !ok || name == "":
			case other.ours:
				errs = append(errs, fmt.Errorf("the program's controller %q is called %q as Fairlead's own %s is; "+
					"to replace that one, put %q into Options.Without, otherwise choose another name", r.Name, name, other.Name, other.Name))
			default:
				errs = append(errs, fmt.Errorf("the program has two controllers that are called %q", name))
			}
		}
		taken[r.Name], taken[r.Alias] = r, r
	}
	return errs
}

func (p *Program) webhookErrors() []error {
	var errs []error
	for i, w := range p.Options.Webhooks {
		if w.Name == "" || !strings.HasPrefix(w.Path, "/") || w.Admit == nil {
			errs = append(errs, fmt.Errorf("the program's webhook %q needs a name, a path that begins with / and a function", w.Name))
		}
		for _, other := range p.Options.Webhooks[:i] {
			if w.Name == other.Name || w.Path == other.Path {
				errs = append(errs, fmt.Errorf("the program has two webhooks that are called %q or served under %q", w.Name, w.Path))
			}
		}
	}
	return errs
}

// place returns the placement of a controller: under one of the leases, or in
// another component.
func (p *Program) place(name string) election.Placement {
	return election.Place(p.Settings.Migration.Plan(), settings.ManagerName, func(entry string) bool {
		found, ok := p.Settings.Controllers.ByAnyName(entry)
		return ok && found == name
	})
}

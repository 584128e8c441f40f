package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Program is what a program chooses and adds. Package ccm, which hands it
// over, says what each part means.
type Program struct {
	Name         string
	ProviderName string
	// Provider makes the provider; nil means the registry.
	Provider    func(context.Context, ProviderDeps) (cloudprovider.Interface, error)
	Flags       cliflag.NamedFlagSets
	Controllers []Controller
	Webhooks    []Webhook
}

// ProviderDeps is what a provider can be made of.
type ProviderDeps struct {
	Name      string
	Config    io.Reader // nil without a file
	Flags     *pflag.FlagSet
	Clients   cloudprovider.ControllerClientBuilder
	Informers informers.SharedInformerFactory
}

// Controller is one that the program adds.
type Controller struct {
	Name         string
	Alias        string
	ClientName   string
	OffByDefault bool
	New          func(context.Context, ControllerDeps) (Runner, error)
}

// Runner is a controller at work; see controller.
type Runner interface {
	Run(ctx context.Context) error
}

// ControllerDeps is what such a controller can be made of.
type ControllerDeps struct {
	Cloud     cloudprovider.Interface
	Client    kubernetes.Interface
	Clients   cloudprovider.ControllerClientBuilder
	Informers informers.SharedInformerFactory
	Events    record.EventRecorder
	Flags     *pflag.FlagSet
}

// Webhook is one that the program adds.
type Webhook struct {
	Name  string
	Path  string
	Admit func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
}

// Skip is the error of a controller that has nothing to do, and says why.
func Skip(why string) error { return skip(why) }

// provider makes the provider.
func (p *Program) provider(ctx context.Context, d ProviderDeps) (cloudprovider.Interface, error) {
	if p.Provider == nil {
		return cloud.Registered(d.Name, d.Config)
	}
	return p.Provider(ctx, d)
}

// controllers are our own and the program's.
func (p *Program) controllers(ours table) table {
	all := append(table{}, ours...)
	for _, c := range p.Controllers {
		all = append(all, c.registration())
	}
	return all
}

// registration makes the program's controller one like ours.
func (c Controller) registration() registration {
	r := registration{name: c.Name, alias: c.Alias, client: c.ClientName, source: c.Name, onByDefault: !c.OffByDefault}
	if r.alias == "" {
		r.alias = c.Name
	}
	if r.client == "" {
		r.client = c.Name
	}
	r.start = func(ctx context.Context, d deps) (controller, error) {
		made, err := c.New(ctx, ControllerDeps{
			Cloud:     d.provider.cloud.Unwrap(),
			Client:    d.client,
			Clients:   d.clients,
			Informers: d.provider.informers,
			Events:    d.newEvents(),
			Flags:     d.options.flagSet,
		})
		if err == nil && made == nil {
			err = skip("it was not made")
		}
		return made, err
	}
	return r
}

// webhooks are the names of the program's webhooks.
func (p *Program) webhooks() []string {
	var names []string
	for _, w := range p.Webhooks {
		names = append(names, w.Name)
	}
	return names
}

// errors are what is wrong with the program itself.
func (p *Program) errors(all table) []error {
	return append(p.controllerErrors(all), p.webhookErrors()...)
}

func (p *Program) controllerErrors(all table) []error {
	var errs []error
	taken := map[string]bool{}
	for _, r := range all {
		for _, name := range []string{r.name, r.alias} {
			if taken[name] && name != "" {
				errs = append(errs, fmt.Errorf("the program has two controllers that are called %q", name))
			}
		}
		taken[r.name], taken[r.alias] = true, true
	}
	for _, c := range p.Controllers {
		if c.Name == "" || c.New == nil {
			errs = append(errs, fmt.Errorf("the program's controller %q needs a name and a function that makes it", c.Name))
		}
	}
	return errs
}

func (p *Program) webhookErrors() []error {
	var errs []error
	for i, w := range p.Webhooks {
		if w.Name == "" || !strings.HasPrefix(w.Path, "/") || w.Admit == nil {
			errs = append(errs, fmt.Errorf("the program's webhook %q needs a name, a path that begins with / and a function", w.Name))
		}
		for _, other := range p.Webhooks[:i] {
			if w.Name == other.Name || w.Path == other.Path {
				errs = append(errs, fmt.Errorf("the program has two webhooks that are called %q or found under %q", w.Name, w.Path))
			}
		}
	}
	return errs
}

package ccm

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/command"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/provider"
)

// Options are the choices and additions of a program. Main uses the zero value.
type Options struct {
	// Name of the command in its help and its messages. Empty means
	// cloud-controller-manager.
	Name string

	// Version of the program, such as v1.2.3. --version prints it before the version
	// of the Kubernetes libraries. The log has both. Empty means the version that
	// Go has recorded in the binary. If Version is empty and the linker has set the
	// version of the libraries, only that version is printed.
	Version string

	// ProviderName is the default of --cloud-provider.
	ProviderName string

	// Defaults are default values of flags, by the flag's name. The flags are
	// Fairlead's or the program's own. --help shows these defaults, and the
	// command line overrides them. A flag with a default here counts as set. A
	// name or a value that no flag accepts is an error.
	Defaults map[string]string

	// Provider makes the provider. Set it if the provider needs more than a
	// configuration file, or if the program needs the provider's concrete value.
	// Nil means the provider that has registered itself under the name in
	// --cloud-provider.
	// Provider must not change the cloud or the cluster, because every replica
	// calls it before one of them leads. It is called again when the
	// configuration file changes, in this process or in a separate one. The
	// separate process only makes the provider and then ends. The context ends
	// when Provider returns. A goroutine that lives longer must use d.Lasting,
	// or be started in the provider's Initialize.
	Provider func(ctx context.Context, d ProviderDeps) (cloudprovider.Interface, error)

	// Classify, if not nil, says what an error of the provider means. It is called
	// before the provider's own ClassifyError, if there is one, and before
	// provider.Classify, the function for errors of the common SDKs. For an error
	// that it does not know, Classify returns provider.Classification{}.
	Classify func(error) provider.Classification

	// Flags are the program's own flags, by their headings in the help text. They
	// are parsed before Provider is called. A name or a shorthand that is already in
	// use is an error at the start. The flag names of node-ipam-controller are an
	// exception: a program may use them, but then that controller cannot run.
	// Imported packages put their flags in pflag.CommandLine. Those flags need not
	// be here. A flag with a secret value should have the annotation "classified",
	// so that neither /flagz nor the log shows the value.
	Flags cliflag.NamedFlagSets

	// Nodes, if not nil, returns false for a Node that is not this program's.
	// Such a Node is not initialised, updated or deleted, and it gets no route.
	// With --service-backends-of=own, it is behind no load balancer. The
	// function is called often. It must depend on nothing but the Node, and must
	// not change the Node.
	Nodes func(node *corev1.Node) bool

	// Without lists the controllers of Fairlead that this program does not have.
	// A controller in Controllers may then have the same name and alias.
	Without []string

	// With lists controllers of Fairlead that are off by default. In this program, "*" in
	// --controllers includes them. An example is node-ipam-controller, which the
	// community's sample program runs by default.
	With []string

	// ClientNames has other client names for controllers of Fairlead, by the names of
	// the controllers. See Controller.ClientName.
	ClientNames map[string]string

	// Controllers are the program's own controllers. They run beside Fairlead's.
	Controllers []Controller

	// Webhooks are served on --webhook-secure-port by each replica. A webhook is
	// served only if --webhooks chooses it.
	Webhooks []Webhook

	// Metrics are registries that /metrics serves in addition to Fairlead's own,
	// for example prometheus.DefaultGatherer. Metrics in the legacy registry of
	// k8s.io/component-base are served anyway. If two metrics have the same
	// name, the daemon's is served.
	Metrics []prometheus.Gatherer

	// Stopped is called once before the process ends, for example to log out of
	// the cloud. By then, all work has returned and the lease has been released,
	// unless work did not return in time. Stopped is not called if the command
	// line is wrong, after a second signal, or if the lease was lost: another
	// replica may lead then, and the process ends at once. In all
	// other cases it is called, even in the separate process that only makes the
	// provider. Its context ends after 5 seconds, and then the process ends.
	Stopped func(ctx context.Context)
}

// NewCommand returns the daemon as a command. The daemon works until the command's
// context ends. Then it waits for its work in flight and releases its lease. A
// program that runs the command itself should end that context on SIGTERM.
func NewCommand(o Options) *cobra.Command { return command.New(o.program()) }

// program returns the options in the daemon's own types.
func (o Options) program() daemon.Options {
	p := daemon.Options{
		Name: o.Name, Version: o.Version, ProviderName: o.ProviderName, Defaults: o.Defaults, Classify: o.Classify,
		Flags: o.Flags, Nodes: o.Nodes, Without: o.Without, With: o.With, ClientNames: o.ClientNames, Metrics: o.Metrics, Stopped: o.Stopped,
	}
	if p.Name == "" {
		p.Name = "cloud-controller-manager"
	}
	if o.Provider != nil {
		p.Provider = func(ctx context.Context, d daemon.ProviderDeps) (cloudprovider.Interface, error) {
			return o.Provider(ctx, ProviderDeps(d))
		}
	}
	for _, c := range o.Controllers {
		p.Controllers = append(p.Controllers, c.registered())
	}
	for _, w := range o.Webhooks {
		p.Webhooks = append(p.Webhooks, daemon.Webhook(w))
	}
	return p
}

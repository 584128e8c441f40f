package ccm

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/app"
)

// Options are what a program may choose and add. The zero value is what Main
// uses.
//
//	type Options struct {
//		// Name of the command in its help and its messages. Empty means
//		// cloud-controller-manager.
//		Name string
//
//		// Version of the program, as in v1.2.3. --version prints it before the version
//		// of the Kubernetes libraries, and the log has both. Empty means the version
//		// that Go has recorded in the binary. If it is empty and the linker has set the
//		// version of the libraries, only the version of the libraries is printed.
//		Version string
//
//		// ProviderName is the default of --cloud-provider.
//		ProviderName string
//
//		// Defaults are defaults of flags, by name: ours and the program's own. --help
//		// shows them, the command line overrides them, and their flags count as set. A
//		// name or a value that no flag accepts is an error.
//		Defaults map[string]string
//
//		// Provider makes the provider. It is for programs whose provider needs more
//		// than a configuration file, or that need the provider's concrete value. Nil
//		// means the provider that has registered itself under the name in
//		// --cloud-provider.
//		// It must not change the cloud or the cluster: every replica calls it,
//		// before one of them leads. It is called again when the configuration file
//		// changes: in this process, or in a separate one, which only makes the
//		// provider and then ends. Its context ends when it returns: goroutines that
//		// live longer use d.Lasting, or are started in the provider's Initialize.
//		Provider func(ctx context.Context, d ProviderDeps) (cloudprovider.Interface, error)
//
//		// Classify, if not nil, says what an error of the provider means. It is
//		// asked before the provider's own ClassifyError, if there is one, and
//		// before provider.Classify, which knows the errors of the common SDKs. It
//		// returns provider.Classification{} for an error that it does not know.
//		Classify func(error) provider.Classification
//
//		// Flags are the program's own, under headings of the help text. They have
//		// their values when Provider is called. A name or a shorthand that exists
//		// already is an error at the start, except for the names of the flags of
//		// node-ipam-controller: then that controller cannot run. Flags in
//		// pflag.CommandLine, where imported packages put theirs, need not be here. A
//		// flag that holds a secret should have the annotation "classified", so that
//		// neither /flagz nor the log shows its value.
//		Flags cliflag.NamedFlagSets
//
//		// Nodes, if not nil, returns false for a Node that is not this program's: the
//		// Node is not initialised, updated or deleted, gets no route, and with
//		// --service-backends-of=own it is behind no load balancer. The function is
//		// called often. It must depend on nothing but the Node, and must not change
//		// the Node.
//		Nodes func(node *corev1.Node) bool
//
//		// Without names controllers of Fairlead that this program does not have. A
//		// controller in Controllers may then have the same name and alias.
//		Without []string
//
//		// Controllers run beside ours.
//		Controllers []Controller
//
//		// Webhooks are served on --webhook-secure-port by each replica. None is
//		// served unless --webhooks chooses it.
//		Webhooks []Webhook
//
//		// Metrics are registries that /metrics serves beside ours, for example
//		// prometheus.DefaultGatherer. What is registered in the legacy registry of
//		// k8s.io/component-base is served anyway. If two metrics have the same name,
//		// the daemon's is served.
//		Metrics []prometheus.Gatherer
//
//		// Stopped is called once before the process ends, for example to log out of
//		// the cloud. By then all work has returned and the lease has been released,
//		// unless work did not return in time or the lease was lost. It is called
//		// whatever the reason of the stop is, except if the command line is wrong, or
//		// after a second signal. It is also called in the separate process that only
//		// makes the provider. Its context ends after 5 seconds, and then the process
//		// ends.
//		Stopped func(ctx context.Context)
//
//		// Conformance, if not nil, adds to what the sub-command "conformance" knows:
//		// features, limits of the cloud unless flags name them, older forms of
//		// provider IDs, Services with the vendor's own annotations. Name and New
//		// may be empty, because the flags name the provider. Its World is used if
//		// neither --world nor --machine is set.
//		Conformance *conformance.Target
//	}
type Options = app.Options

// NewCommand returns the daemon as a command. It works until the command's
// context ends, then waits for its work in flight and releases its lease. A
// program that runs the command itself should end that context on SIGTERM.
func NewCommand(o Options) *cobra.Command { return app.NewCommand(named(o)) }

func named(o Options) Options {
	if o.Name == "" {
		o.Name = "cloud-controller-manager"
	}
	return o
}

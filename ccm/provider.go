package ccm

import "github.com/fairlead-k8s/fairlead/internal/app"

// ProviderDeps is what a provider can be made of.
//
//	type ProviderDeps struct {
//		// Name is the value of --cloud-provider.
//		Name string
//		// Config is the open file of --cloud-config, nil without that flag. It is
//		// closed once Options.Provider has returned.
//		Config io.Reader
//		// Flags are all flags of the command, parsed; the program's own among them.
//		Flags *pflag.FlagSet
//		// Clients makes clients of the API server, each with its name in the user
//		// agent, and with --use-service-account-credentials with its own service
//		// account: what Initialize gets.
//		Clients cloudprovider.ControllerClientBuilder
//		// Informers are those that SetInformers and our ControllerDeps get. What is
//		// asked of them starts when this replica leads and Initialize has returned;
//		// before that the caches are empty. They must not be started here.
//		Informers informers.SharedInformerFactory
//		// Lasting is the context of what the provider starts and does not end
//		// itself. It ends when this provider is dropped: another one has taken its
//		// place, or all work has returned and the process ends. Nobody waits for
//		// what then ends.
//		Lasting context.Context
//		// Changed tells the daemon that the configuration has changed, wherever the
//		// provider has it from. The daemon does what it does when the file in
//		// --cloud-config changes, at once: the provider's Reload, a new provider in a
//		// replica that stands by, otherwise the planned end of the process. It
//		// returns at once and may be called at any time, by any goroutine.
//		Changed func()
//	}
//
//	// Registered makes the provider that has registered itself under d.Name, as
//	// is done without Options.Provider. It returns the provider itself: a program
//	// may assert its concrete type.
//	func (d ProviderDeps) Registered() (cloudprovider.Interface, error)
type ProviderDeps = app.ProviderDeps

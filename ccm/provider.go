package ccm

import "github.com/fairlead-k8s/fairlead/internal/app"

// ProviderDeps is what Options.Provider can use.
//
//	type ProviderDeps struct {
//		// Name is the value of --cloud-provider.
//		Name string
//		// Config is the open file of --cloud-config, nil without that flag. It is
//		// closed once Options.Provider has returned.
//		Config io.Reader
//		// Flags are all flags of the command, parsed; the program's own among them.
//		Flags *pflag.FlagSet
//		// Clients makes clients of the API server. Each has its name in the user
//		// agent, and with --use-service-account-credentials a service account of its
//		// own. Initialize gets the same Clients.
//		Clients cloudprovider.ControllerClientBuilder
//		// Informers are those that SetInformers and ControllerDeps get. They start
//		// when this replica leads and Initialize has returned; before that the caches
//		// are empty. Options.Provider must not start them.
//		Informers informers.SharedInformerFactory
//		// Lasting is the context for goroutines of the provider. It ends when this
//		// provider is dropped: another one has taken its place, or all work has
//		// returned and the process ends. The daemon does not wait for these
//		// goroutines.
//		Lasting context.Context
//		// Changed tells the daemon that the provider's configuration has changed,
//		// wherever it comes from. The daemon then does the same as after a change of
//		// the file in --cloud-config: it calls the provider's Reload. If the provider
//		// has none, a standby replica makes a new provider, and the leader ends as
//		// planned. Changed returns at once and may be called at any time, by any
//		// goroutine.
//		Changed func()
//	}
//
//	// Registered makes the provider that has registered itself under d.Name, as
//	// is done without Options.Provider. It returns the provider itself: a program
//	// may assert its concrete type.
//	func (d ProviderDeps) Registered() (cloudprovider.Interface, error)
type ProviderDeps = app.ProviderDeps

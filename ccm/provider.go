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
//	}
//
//	// Registered makes the provider that has registered itself under d.Name, as
//	// is done without Options.Provider. It returns the provider itself: a program
//	// may assert its concrete type.
//	func (d ProviderDeps) Registered() (cloudprovider.Interface, error)
type ProviderDeps = app.ProviderDeps

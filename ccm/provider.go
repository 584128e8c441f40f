package ccm

import (
	"context"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// ProviderDeps has the values that Options.Provider can use.
//
//	// Registered makes the provider that has registered itself under d.Name, as the
//	// daemon does without Options.Provider. It does not wrap the provider, so a
//	// program can assert the concrete type.
//	func (d ProviderDeps) Registered() (cloudprovider.Interface, error)
type ProviderDeps struct {
	// Name is the value of --cloud-provider.
	Name string
	// Config is the open file of --cloud-config, or nil without that flag. It is
	// closed once Options.Provider has returned.
	Config io.Reader
	// Flags are all parsed flags of the command, including the program's own.
	Flags *pflag.FlagSet
	// Clients makes clients of the API server. Each client has its name in the
	// user agent. With --use-service-account-credentials, each also has its own
	// service account. The provider's Initialize gets the same Clients.
	Clients cloudprovider.ControllerClientBuilder
	// Informers are the same as in SetInformers and ControllerDeps. They start
	// once this replica leads and Initialize has returned. Until then, their
	// caches are empty. Options.Provider must not start them.
	Informers informers.SharedInformerFactory
	// Lasting is the context for goroutines of the provider. It ends when
	// another provider has replaced this one, or when all work has returned and
	// the process ends. The daemon does not wait for these goroutines.
	Lasting context.Context
	// Changed tells the daemon that the provider's configuration has changed, in
	// whatever place the configuration is. The daemon then does the same as
	// after a change of the file in --cloud-config: it calls the provider's
	// Reload. If the provider has no Reload, a standby replica makes a new
	// provider, and the leader ends as planned. Changed returns at once. Any
	// goroutine may call it at any time.
	Changed func()
}

// Registered makes the provider that has registered itself under d.Name, as the
// daemon does without Options.Provider. It does not wrap the provider, so a program can
// assert the concrete type.
func (d ProviderDeps) Registered() (cloudprovider.Interface, error) {
	return cloud.Registered(d.Name, d.Config)
}

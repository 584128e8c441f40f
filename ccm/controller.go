package ccm

import (
	"context"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

// Controller is a controller that a program adds. It is started and stopped like
// Fairlead's own controllers, under the same lease. It appears in the same places:
// in --controllers, in /healthz, in running_managed_controllers and in the log.
type Controller struct {
	// Name of the controller, such as acme-firewall-controller. It is also the
	// source of its events.
	Name string
	// Alias is another name for the controller in --controllers, and the label
	// of running_managed_controllers. Empty means Name.
	Alias string
	// ClientName is the last part of the controller's user agent. With
	// --use-service-account-credentials, it is also the name of the controller's
	// service account in kube-system. Empty means Name.
	ClientName string
	// OffByDefault means that the controller runs only if --controllers names
	// it.
	OffByDefault bool
	// Flags are the names of the daemon's flags that the controller reads, such
	// as allocate-node-cidrs. If the daemon itself ignores one of these flags,
	// --help and the log do not call it ignored.
	Flags []string
	// New makes the controller. It is called once this replica leads, after the
	// provider's Initialize and SetInformers. It asks for the informers that the
	// controller needs, and does not wait for them. An error ends the process,
	// unless it comes from Skip.
	New func(ctx context.Context, d ControllerDeps) (Runner, error)
}

// registered returns the controller in the daemon's own type.
func (c Controller) registered() daemon.Controller {
	r := daemon.Controller{Name: c.Name, Alias: c.Alias, ClientName: c.ClientName, OffByDefault: c.OffByDefault, Flags: c.Flags}
	if c.New != nil {
		r.New = func(ctx context.Context, d daemon.ControllerDeps) (daemon.Runner, error) {
			return c.New(ctx, ControllerDeps(d))
		}
	}
	return r
}

// Runner is a controller that runs.
//
// If a Runner also has the method
//
//	Live() error
//
// then /livez calls it to find out whether the workers are stuck. If Live returns an
// error, the kubelet restarts the process.
type Runner interface {
	// Run waits for the caches that it needs, and then runs the controller until
	// ctx ends. Afterwards it has 8 seconds to wait for its work in flight. It
	// must not return earlier than that work, because another replica may then
	// take over. If Run returns before ctx has ended, that is a failure, and the
	// process ends.
	Run(ctx context.Context) error
}

// ControllerDeps has the values that Controller.New can use.
type ControllerDeps struct {
	// Cloud is the provider, as its factory or Options.Provider returned it.
	Cloud cloudprovider.Interface
	// Client has the controller's identity, and Clients makes other clients.
	Client  kubernetes.Interface
	Clients cloudprovider.ControllerClientBuilder
	// Informers are shared by the provider and all controllers that the program
	// adds. They start once all these controllers have been made.
	Informers informers.SharedInformerFactory
	// Events records what happens to objects.
	Events record.EventRecorder
	// Flags are all flags of the command, parsed.
	Flags *pflag.FlagSet
}

// Skip returns the error that Controller.New should return if the controller has
// nothing to do, for example because the cloud lacks a feature. The reason is
// logged.
func Skip(why string) error { return daemon.Skip(why) }

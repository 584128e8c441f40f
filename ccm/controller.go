package ccm

import "github.com/fairlead-k8s/fairlead/internal/app"

// Controller is one that a program adds. It is started and stopped as ours
// are, under the same lease, and is seen where ours are: in --controllers, in
// /healthz, in running_managed_controllers and in the log.
//
//	type Controller struct {
//		// Name, as in acme-firewall-controller. It is the source of the events.
//		Name string
//		// Alias is another name for --controllers, and the label of
//		// running_managed_controllers. Empty means Name.
//		Alias string
//		// ClientName is the end of its user agent, and its service account in
//		// kube-system with --use-service-account-credentials. Empty means Name.
//		ClientName string
//		// OffByDefault makes it run only if --controllers names it.
//		OffByDefault bool
//		// Flags names flags of ours that the controller reads, as
//		// allocate-node-cidrs. One that changes nothing in the daemon itself is then
//		// not called ignored in --help and in the log.
//		Flags []string
//		// New makes the controller once this replica leads, after the provider's
//		// Initialize and SetInformers. It asks for the informers that it needs and
//		// does not wait for them. An error ends the process; Skip does not.
//		New func(ctx context.Context, d ControllerDeps) (Runner, error)
//	}
type Controller = app.Controller

// Runner is a controller that runs.
//
//	type Runner interface {
//		// Run works until ctx ends, and returns once its work in flight has
//		// returned: only then may another replica take over. It has 8 seconds for
//		// that. It waits for the caches that it needs. A Run that returns before
//		// ctx has ended is a failure that ends the process.
//		Run(ctx context.Context) error
//	}
//
// One that also has
//
//	Live() error
//
// is asked by /livez whether its workers are stuck. If it returns an error, kubelet
// restarts the process.
type Runner = app.Runner

// ControllerDeps is what a Controller can be made of.
//
//	type ControllerDeps struct {
//		// Cloud is the provider, as its factory or Options.Provider returned it.
//		Cloud cloudprovider.Interface
//		// Client has the controller's identity, and Clients make others.
//		Client  kubernetes.Interface
//		Clients cloudprovider.ControllerClientBuilder
//		// Informers are shared by the provider and all controllers that the program
//		// adds. They start after all have been made.
//		Informers informers.SharedInformerFactory
//		// Events records what happens to objects.
//		Events record.EventRecorder
//		// Flags are all flags of the command, parsed.
//		Flags *pflag.FlagSet
//	}
type ControllerDeps = app.ControllerDeps

// Skip is what Controller.New returns when there is nothing to do, for example
// because the cloud has no such thing. The reason is logged.
func Skip(why string) error { return app.Skip(why) }

package ccm

import "github.com/fairlead-k8s/fairlead/internal/app"

// Controller is a controller that a program adds. It is started and stopped like
// Fairlead's own controllers, under the same lease. It appears in the same places:
// in --controllers, in /healthz, in running_managed_controllers and in the log.
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
//		// Flags names flags of the daemon that the controller reads, such as
//		// allocate-node-cidrs. If the daemon itself ignores such a flag, --help and
//		// the log then do not call it ignored.
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
//		// Run runs the controller until ctx ends. It returns when its work in flight
//		// has returned, because another replica may take over then. It has 8 seconds
//		// for that. It waits for the caches that it needs. If Run returns before ctx
//		// has ended, that is a failure, and the process ends.
//		Run(ctx context.Context) error
//	}
//
// If a Runner also has the method
//
//	Live() error
//
// then /livez calls it to find out whether its workers are stuck. If it returns an
// error, the kubelet restarts the process.
type Runner = app.Runner

// ControllerDeps is what Controller.New can use.
//
//	type ControllerDeps struct {
//		// Cloud is the provider, as its factory or Options.Provider returned it.
//		Cloud cloudprovider.Interface
//		// Client has the controller's identity, and Clients makes other clients.
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

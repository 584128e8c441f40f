package app

import (
	"context"
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// Names of the controllers: in --controllers, in health checks, in logs.
const (
	nodeController          = node.Name
	nodeLifecycleController = nodelifecycle.Name
	serviceController       = service.Name
	routeController         = route.Name
)

// controllers are all controllers that have a name. Those without start are
// accepted in --controllers, so that existing manifests keep working, and are
// reported at start as not in this version.
var controllers = table{
	{
		name:        nodeController,
		alias:       "cloud-node",
		client:      "node-controller",
		source:      "cloud-node-controller",
		onByDefault: true,
		start:       startNodes,
	},
	{
		name:        nodeLifecycleController,
		alias:       "cloud-node-lifecycle",
		client:      "node-controller",
		source:      "cloud-node-lifecycle-controller",
		onByDefault: true,
		start:       startLifecycle,
	},
	{
		name:        serviceController,
		alias:       "service",
		client:      "service-controller",
		source:      "service-controller",
		onByDefault: true,
		start:       startServices,
	},
	{
		name:        routeController,
		alias:       "route",
		client:      "route-controller",
		source:      "route_controller",
		onByDefault: true,
		start:       startRoutes,
	},
}

// registration is one controller: under which names it appears, and how it is
// made.
type registration struct {
	name        string
	alias       string // former name; still a label of running_managed_controllers
	client      string // end of the user agent, and service account
	source      string // component of its events
	onByDefault bool
	// start makes the controller; it registers the informers it needs and does
	// not wait. A skip as error says why there is nothing to run.
	start func(ctx context.Context, d deps) (controller, error)
}

// deps are what a controller is made of.
type deps struct {
	provider  built
	client    kubernetes.Interface
	clients   cloudprovider.ControllerClientBuilder
	informers informers.SharedInformerFactory // ours, trimmed; started later
	gateway   *cloud.Gateway
	metrics   controllerMetrics
	recorder  *kube.Recorder
	newEvents func() record.EventRecorder // for objects of any kind
	options   *options
}

// A controller does its work in Run.
type controller interface {
	// Run works until ctx ends, and returns when its work in flight is over;
	// only calls that read may still be under way then. It waits itself for
	// the caches that it needs. To return while ctx has not ended is a failure
	// that ends the process.
	Run(ctx context.Context) error
}

// A liveness is a controller that knows whether its workers are stuck.
type liveness interface {
	// Live returns an error if the process has to be restarted.
	Live() error
}

// skip is the error of a controller that has nothing to do, and says why.
type skip string

func (s skip) Error() string { return string(s) }

// misconfigured is the error of a controller that cannot run with its flags. It
// ends the process only if --controllers names the controller: what an operator
// has not asked for must not stop the rest.
type misconfigured struct{ error }

type table []registration

// canonical returns the name of a controller that is given by name or alias.
func (t table) canonical(name string) (string, bool) {
	for _, r := range t {
		if name == r.name || name == r.alias {
			return r.name, true
		}
	}
	return "", false
}

// chosen says whether entries of --controllers or --webhooks, aliases replaced,
// choose what has this name.
func chosen(name string, onByDefault bool, entries []string) bool {
	for _, entry := range entries {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return onByDefault && slices.Contains(entries, "*")
}

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/provider"
	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// start is a function that makes a controller. It requests the informers that the
// controller needs, and does not wait for them. An error of type skip says why there
// is nothing to run.
type start func(ctx context.Context, d deps) (controller, error)

// deps are the values from which any controller can be made. The controller's own
// configuration is not among them, because its start function already has it.
type deps struct {
	provider  provider.Made
	client    kubernetes.Interface
	clients   cloudprovider.ControllerClientBuilder
	informers informers.SharedInformerFactory // ours, with trimmed objects; started later
	gateway   *cloud.Gateway
	timeouts  timeouts
	lease     types.NamespacedName // of this process
	metrics   controllerMetrics
	recorder  *kube.Recorder
	newEvents func() record.EventRecorder // a recorder for objects of any kind
}

// timeouts are the deadlines of calls to the provider.
type timeouts struct{ read, change time.Duration }

// controller does its work in Run.
type controller interface {
	// Run waits for the caches that it needs, and works until ctx ends. Then it
	// waits for its work to return, except for calls that only read. If Run returns
	// before ctx has ended, that is a failure and ends the process.
	Run(ctx context.Context) error
}

// liveness is a controller that can report whether its workers are stuck.
type liveness interface {
	// Live returns an error if the workers are stuck. The process must then be
	// restarted.
	Live() error
}

// live returns the controller's method Live, or nil if it has none.
func live(c controller) func() error {
	if l, ok := c.(liveness); ok {
		return l.Live
	}
	return nil
}

// worker is one of Fairlead's own controllers. It can report stuck passes, say what
// it would do, and look at objects without acting.
type worker interface {
	controller
	planner
	shadower
	Stuck(limit time.Duration) error
}

// stuckAfter is the extra time that a pass over one key gets after its longest
// deadline. Then the process is restarted.
const stuckAfter = 5 * time.Minute

// watched is a worker with a limit for its passes.
type watched struct {
	worker
	longest time.Duration
}

// watch limits the passes of a worker. timeout is the timeout of the worker's longest
// call.
func watch(w worker, timeout time.Duration) watched { return watched{w, timeout + stuckAfter} }

// Live implements liveness.
func (w watched) Live() error { return w.Stuck(w.longest) }

// skip is the error of a controller that has nothing to do. Its text is the
// reason.
type skip string

func (s skip) Error() string { return string(s) }

// notOffered is the error of a controller that has nothing to do yet. The provider
// does not offer what the controller needs, but may offer it later. The text is the
// reason.
type notOffered string

func (n notOffered) Error() string { return string(n) }

// misconfigured is the error of a controller that cannot run with its flags. It
// ends the process only if --controllers names the controller. A controller that
// runs by default must not stop the other controllers.
type misconfigured struct{ error }

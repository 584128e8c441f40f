package daemon

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// start is a function that makes a controller. It requests the informers that the
// controller needs, and does not wait for them. An error of type skip says why there
// is nothing to run.
type start func(ctx context.Context, d deps) (Runner, error)

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

// liveness is a controller that can report whether its workers are stuck.
type liveness interface {
	// Live returns an error if the workers are stuck. The process must then be
	// restarted.
	Live() error
}

// live returns the controller's method Live, or nil if it has none.
func live(c Runner) func() error {
	if l, ok := c.(liveness); ok {
		return l.Live
	}
	return nil
}

// Worker is one of Fairlead's own controllers. It can report stuck passes, and say what
// it would do.
type Worker interface { //nolint:interfacebloat // a controller is one thing
	Runner

	// Stuck returns an error if a pass has taken longer than the limit.
	Stuck(limit time.Duration) error
	// Follow begins to list and watch all objects. The caller must call stop after
	// ctx has ended. The returned function, known, reports whether the controller
	// knows all objects.
	Follow(ctx context.Context) (known cache.InformerSynced, stop func(), err error)
	// Keys returns the keys that can be passed to Plan.
	Keys() []string
	// Plan returns the steps that the controller would take for an object, as far as
	// it can know these steps without taking them. It may ask the cloud, and writes
	// nothing.
	Plan(ctx context.Context, key string) ([]step.Step, error)
	// Shadow calls the given function with a key whenever the controller would
	// otherwise make a pass over that key. The function's result says when to call
	// it again with this key. Shadow returns when ctx ends.
	Shadow(ctx context.Context, look loop.Reconcile) error
}

// stuckAfter is the extra time that a pass over one key gets after its longest
// deadline. Then the process is restarted.
const stuckAfter = 5 * time.Minute

// watched is a worker with a limit for its passes.
type watched struct {
	Worker

	longest time.Duration
}

// watch limits the passes of a worker. timeout is the timeout of the worker's longest
// call.
func watch(w Worker, timeout time.Duration) watched { return watched{w, timeout + stuckAfter} }

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

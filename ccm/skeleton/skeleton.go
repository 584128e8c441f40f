// Package skeleton runs controllers that were written for the community's
// skeleton, k8s.io/cloud-provider/app, beside ours:
//
//	ccm.MainWith(ccm.Options{
//		Controllers: []ccm.Controller{
//			skeleton.Controller("node-ipam-controller", ipam, "allocate-node-cidrs"),
//		},
//	})
//
// Here ipam is the vendor's app.ControllerInitFuncConstructor. The package is a
// module of its own, because it needs packages of the skeleton.
package skeleton

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/cloud-provider/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// Controller returns the controller that c constructs. The last arguments name the
// flags that the controller reads and the daemon itself ignores. The caller may change
// the result, for example its Alias.
//
// The controller gets the provider itself, the informers of ccm.ControllerDeps, and
// the skeleton's configuration with the values of the command line. A flag that is
// not set has the skeleton's default, which can differ from Fairlead's.
// SecureServing, Authentication and Authorization are empty, because they need the
// skeleton's own server.
//
// The controller starts goroutines and does not report when they have returned. So
// the daemon does not wait for them when it stops. Another replica might begin to
// lead while their last call still runs.
func Controller(name string, c app.ControllerInitFuncConstructor, flags ...string) ccm.Controller {
	return ccm.Controller{
		Name:         name,
		ClientName:   c.InitContext.ClientName,
		OffByDefault: app.ControllersDisabledByDefault.Has(name),
		Flags:        flags,
		New: func(ctx context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
			config, err := completed(ctx, d)
			if err != nil {
				return nil, err
			}
			given, err := controllerContext(ctx, d, config)
			if err != nil {
				return nil, err
			}
			made, started, err := c.Constructor(c.InitContext, config, d.Cloud)(ctx, given)
			switch {
			case err != nil:
				return nil, err
			case !started:
				return nil, ccm.Skip("its constructor reports that it did not start")
			}
			return runner{made, given.InformersStarted}, nil
		},
	}
}

// runner is a controller that is already running.
type runner struct {
	controller controller.Interface // may be nil
	started    chan struct{}
}

// Run tells the controller that the informers have started. It does not wait
// for the controller.
func (r runner) Run(ctx context.Context) error {
	close(r.started)
	<-ctx.Done()
	return nil
}

// Live asks the controller's own health check, if it has one.
func (r runner) Live() error {
	checkable, ok := r.controller.(controller.HealthCheckable)
	if !ok {
		return nil
	}
	var check healthz.UnnamedHealthChecker
	if check = checkable.HealthChecker(); check == nil {
		return nil
	}
	request, err := http.NewRequest(http.MethodGet, "/livez", http.NoBody) //nolint:noctx // it is not sent
	if err != nil {
		return fmt.Errorf("request of the health check: %w", err)
	}
	return check.Check(request)
}

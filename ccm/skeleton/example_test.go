package skeleton_test

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/fairlead-k8s/fairlead/ccm"
	"github.com/fairlead-k8s/fairlead/ccm/skeleton"
)

var options = ccm.Options{
	Controllers: []ccm.Controller{
		skeleton.Controller("node-ipam-controller", app.ControllerInitFuncConstructor{
			InitContext: app.ControllerInitContext{ClientName: "node-controller"},
			Constructor: startIPAM,
		}, "allocate-node-cidrs", "cidr-allocator-type"),
	},
}

// startIPAM stands for a vendor's own constructor.
func startIPAM(app.ControllerInitContext, *config.CompletedConfig, cloudprovider.Interface) app.InitFunc {
	return func(context.Context, cmapp.ControllerContext) (controller.Interface, bool, error) {
		return nil, true, nil
	}
}

// A program that runs a controller of the skeleton beside Fairlead's own controllers.
func Example() {
	ccm.MainWith(options)
}

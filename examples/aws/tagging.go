package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider-aws/pkg/controllers/options"
	awstagging "k8s.io/cloud-provider-aws/pkg/controllers/tagging"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// tagging returns the controller that tags the instances of nodes, and defines
// its flags. As in AWS's own daemon, the controller runs only if --controllers
// names it.
func tagging(flags *pflag.FlagSet) ccm.Controller {
	var o options.TaggingControllerOptions
	o.AddFlags(flags)
	return ccm.Controller{
		Name:         awstagging.TaggingControllerKey,
		ClientName:   awstagging.TaggingControllerClientName,
		OffByDefault: true,
		New: func(_ context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
			if err := o.Validate(); err != nil {
				return nil, fmt.Errorf("flags: %w", err)
			}
			period, err := d.Flags.GetDuration("node-monitor-period")
			if err != nil {
				return nil, fmt.Errorf("pause between looks: %w", err)
			}
			c, err := awstagging.NewTaggingController(d.Informers.Core().V1().Nodes(), d.Client, d.Cloud, period,
				o.Tags, o.Resources, o.RateLimit, o.BurstLimit, o.WorkerCount, o.BatchingEnabled)
			if err != nil {
				return nil, fmt.Errorf("new: %w", err)
			}
			return runner{c}, nil
		},
	}
}

// runner adapts the controller to ccm.Runner.
type runner struct{ *awstagging.Controller }

// Run runs the controller until ctx ends.
func (r runner) Run(ctx context.Context) error {
	r.Controller.Run(ctx)
	return nil
}

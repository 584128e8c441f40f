package conformance_test

import (
	"context"
	"fmt"
	"strings"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	world "github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// This program tests the provider of the simulated cloud. A vendor's test would
// pass such a Target to Test.
func ExampleRun() {
	target := conformance.Target{
		Name: "simulated",
		World: func(ctx context.Context) (any, error) {
			return world.New(ctx, simulator.Config{})
		},
		New: func(ctx context.Context, w any) (cloudprovider.Interface, error) {
			provider, err := simulated.New(strings.NewReader("endpoint: " + w.(*world.World).URL()))
			if err != nil {
				return nil, err
			}
			provider.Initialize(nil, ctx.Done()) //nolint:contextcheck // the contract has no context
			return provider, nil
		},
	}
	report, err := conformance.Run(context.Background(), target, conformance.Options{
		Only: []string{"instances/gone-by-id", "instances/gone-by-name"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, check := range report.Checks {
		fmt.Println(check.Outcome, check.ID)
	}
	// Output:
	// passed instances/gone-by-id
	// passed instances/gone-by-name
}

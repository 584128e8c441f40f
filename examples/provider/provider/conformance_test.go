package provider

import (
	"context"
	"strings"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	world "github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// pageSize is the maximum number of instances that the cloud returns at once.
const pageSize = 3

// TestConformance tests the provider against the contract, with a subtest for
// each check. Replace the World, which is the simulated cloud here, with a fake
// of your cloud or with an account of your own.
func TestConformance(t *testing.T) {
	conformance.Test(t, conformance.Target{
		Name: Name,
		World: func(ctx context.Context) (any, error) {
			return world.New(ctx, simulator.Config{PageSize: pageSize})
		},
		New: configured("endpoint: URL"),
		Configs: []conformance.Config{
			{Flaw: conformance.BadCredentials, New: denied},
			{Flaw: conformance.UnknownKey, New: configured("endpoint: URL\nendpiont: x"), Mentions: []string{"endpiont"}},
		},
		EventuallyWithin: time.Second, // this cloud shows each change at once

		PageSize: pageSize,
	}, conformance.Options{
		Timeout: 5 * time.Minute, // longer than a check takes on a busy machine
		Skip:    map[string]string{"process/no-secrets": "the simulated cloud needs no credentials"},
	})
}

// configured returns a function that makes the provider as the daemon does. It
// replaces the word URL in config by the URL of the cloud.
func configured(config string) func(context.Context, any) (cloudprovider.Interface, error) {
	return func(ctx context.Context, w any) (cloudprovider.Interface, error) {
		made, err := cloudprovider.GetCloudProvider(Name, strings.NewReader(strings.ReplaceAll(config, "URL", w.(*world.World).URL())))
		if err != nil {
			return nil, err
		}
		made.Initialize(nil, ctx.Done())
		return made, nil
	}
}

// denied makes the provider for a cloud that refuses its credentials.
func denied(ctx context.Context, w any) (cloudprovider.Interface, error) {
	if _, err := w.(*world.World).SetFault(ctx, conformance.Fault{Kind: conformance.FaultUnauthenticated}); err != nil {
		return nil, err
	}
	return configured("endpoint: URL")(ctx, w)
}

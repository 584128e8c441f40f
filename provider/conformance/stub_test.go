package conformance

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// stub is a provider that no check asks anything.
type stub struct{ cloudprovider.Interface }

// stubbed returns a target whose provider is a stub. It has no world.
func stubbed() Target {
	return Target{Name: "acme", New: func(context.Context, any) (cloudprovider.Interface, error) { return stub{}, nil }}
}

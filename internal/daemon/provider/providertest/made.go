package providertest

import (
	"context"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Made wraps the given provider in the same way as the daemon wraps the provider from a
// factory.
func Made(t *testing.T, theirs cloudprovider.Interface) *cloud.Provider {
	t.Helper()
	p, err := cloud.Make(t.Context(), func(context.Context) (cloudprovider.Interface, error) { return theirs, nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

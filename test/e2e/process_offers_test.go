package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// Each accessor of the provider returns "not supported" once, as if a request of the
// provider had failed. The accessors are called again, and the controllers run.
func TestProviderThatOffersNothingAtFirst(t *testing.T) {
	b := onShared(t)
	c := b.NewCloud(t)
	d := b.Daemon(t, daemon.Setup{Provider: "modern", Cloud: c.URL, Settings: "quirks: [OffersNothingOnce]\n"})
	joins(t, b, c, expect.Soon)
	expect.Within(t, expect.Soon, func(context.Context) error {
		if !d.Logged("Controller runs", "service-lb-controller") {
			return errors.New("the controller of Services does not run")
		}
		return nil
	})
	b.AwaitMetric(t, d, "fairlead_provider_offers_nothing 0")
}

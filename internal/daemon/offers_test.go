package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// A provider says "not supported" for a minute. During that minute, the process
// shows that no controller has anything to do. Afterwards the controller runs.
func TestControllerRunsOnceTheProviderOffersItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		theirs := &providertest.Cloud{}
		theirs.OnAccessor = func() {
			if time.Since(began) > time.Minute {
				theirs.V2 = brokenInstances{}
			}
		}
		var ran time.Duration
		p, ctx := newTestProcess(t, theirs, table{runs(settings.NodeController, func(_ context.Context, d deps) (Runner, error) {
			if d.gateway.Instances() == nil {
				return nil, notOffered("the provider offers no instances")
			}
			return &fakeController{run: func(ctx context.Context) error {
				ran = time.Since(began)
				return untilStopped(ctx)
			}}, nil
		})})
		p.metrics = newControllerMetrics(p.Registry.MustRegister, p.Registry.CustomMustRegister)
		shown := func() string {
			_, body := get(p, "/readyz?verbose")
			return body
		}
		time.AfterFunc(30*time.Second, func() {
			if body := shown(); !p.idle.Load() || !strings.Contains(body, "[i]provider: offers nothing yet") {
				t.Errorf("idle: %v; readiness says:\n%s", p.idle.Load(), body)
			}
		})
		time.AfterFunc(10*time.Minute, func() {
			if body := shown(); p.idle.Load() || !strings.Contains(body, "[i]provider: offers instances; it is asked again for") {
				t.Errorf("idle: %v; readiness says:\n%s", p.idle.Load(), body)
			}
			p.fail(nil)
		})
		p.lead(ctx)
		if ran < time.Minute || ran > 3*time.Minute {
			t.Errorf("the controller ran after %v", ran)
		}
	})
}

// A provider that cannot tell what it offers is asked more often than one that
// offers nothing. Its accessors are called only once it can tell.
func TestProviderThatCannotSayIsAskedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ran := time.Now(), false
		theirs := &providertest.Cloud{V2: brokenInstances{}}
		theirs.OnOffers = func() error {
			if time.Since(began) < time.Hour {
				return errors.New("503")
			}
			return nil
		}
		theirs.OnAccessor = func() {
			if time.Since(began) < time.Hour {
				t.Error("an accessor was asked")
			}
		}
		p, ctx := newTestProcess(t, theirs, table{runs(settings.NodeController, func(_ context.Context, d deps) (Runner, error) {
			if d.gateway.Instances() == nil {
				return nil, notOffered("the provider offers no instances")
			}
			if late := time.Since(began) - time.Hour; late > longestSoon {
				t.Errorf("the controller was made %v late", late)
			}
			ran = true
			return &fakeController{run: untilStopped}, nil
		})})
		p.metrics = newControllerMetrics(p.Registry.MustRegister, p.Registry.CustomMustRegister)
		time.AfterFunc(2*time.Hour, func() { p.fail(nil) })
		p.lead(ctx)
		if !ran {
			t.Error("the controller has not run")
		}
	})
}

// Each attempt to make a controller costs an event recorder, so a controller is made
// only when the provider's offers have changed.
func TestControllerIsMadeOnlyWhenTheOfferChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		asked := 0
		p, ctx := newTestProcess(t, &providertest.Cloud{OnAccessor: func() { asked++ }}, table{runs(settings.NodeController, func(context.Context, deps) (Runner, error) {
			attempts++
			return nil, notOffered("the provider offers no instances")
		})})
		p.metrics = newControllerMetrics(p.Registry.MustRegister, p.Registry.CustomMustRegister)
		time.AfterFunc(24*time.Hour, func() { p.fail(nil) })
		p.lead(ctx)
		if attempts > 2 {
			t.Errorf("the controller was made %d times in a day, want at most 2", attempts)
		}
		if least := int(24 * time.Hour / longestAsk); asked < least {
			t.Errorf("the accessors were asked %d times in a day, want at least %d", asked, least)
		}
	})
}

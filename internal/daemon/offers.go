package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

const (
	// firstAsk is the first delay before a provider is asked again for the
	// interfaces that it has not offered. longestAsk is the longest delay. The delay
	// doubles after each question, because most providers never offer everything.
	firstAsk   = time.Second
	longestAsk = 5 * time.Minute
	// longestSoon is the maximum delay while the provider cannot say what it
	// offers.
	longestSoon = 15 * time.Second
)

// StartInformers starts the informers that were requested since its last call.
func (p *Process) StartInformers(ctx context.Context) {
	p.informers.StartWithContext(ctx)
	p.provider.Informers.StartWithContext(ctx) // the informers of the program's controllers
}

// awaitOffers asks the provider repeatedly for the interfaces that it does not offer
// yet. It runs each waiting controller once the provider offers what the controller
// needs. It returns when no controller waits any more or ctx has ended.
func (p *Process) awaitOffers(ctx context.Context, waiting []started, run func(started)) {
	tried := "" // the provider's offers at the last attempt to make the controllers
	for delay := firstAsk; len(waiting) > 0 && sleep.For(ctx, delay); {
		delay = min(2*delay, p.askAgain(ctx))
		offers := p.gateway.Load().Offers()
		if offers == tried { // Nothing has changed, and each attempt would leave a recorder running.
			continue
		}
		tried = offers
		var still []started
		for _, s := range waiting {
			made, runs, err := s.again()
			switch {
			case err != nil:
				p.fail(err)
				return
			case runs && made.controller == nil:
				still = append(still, made)
			case runs:
				p.endIdle(ctx, made)
				run(made)
			}
		}
		waiting = still
		p.StartInformers(ctx)
		if p.idle.Load() {
			p.tellIdle()
		}
	}
}

// askAgain asks the provider for the interfaces that it has not offered. It returns
// the longest delay that is allowed before the next question.
func (p *Process) askAgain(ctx context.Context) time.Duration {
	_, err := p.gateway.Load().AskAgain(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "The provider cannot say what it offers")
	}
	if errors.Is(err, cloud.ErrCannotSay) {
		return longestSoon
	}
	return longestAsk
}

// beginIdle checks whether all our controllers are without work because the provider
// offers nothing for them. If so, it records that. Events are written until the context
// `lasting` ends.
func (p *Process) beginIdle(lasting context.Context, made []started) {
	ours := slices.DeleteFunc(slices.Clone(made), func(s started) bool { return !isOurs(s) })
	works := slices.ContainsFunc(ours, func(s started) bool { return s.controller != nil })
	if len(ours) == 0 || works {
		return
	}
	p.idle.Store(true)
	p.metrics.idle.Set(1)
	p.tellIdle = sync.OnceFunc(func() {
		klog.FromContext(lasting).Error(nil, "No controller has work, because the provider offers nothing; it is asked again")
		p.leaseRecorder(lasting)(providerOffersNothing.Event("The provider offers neither instances nor load balancers nor routes, so nothing is done for Nodes and Services. It is asked again."))
	})
}

// endIdle records that a controller has work.
func (p *Process) endIdle(ctx context.Context, s started) {
	klog.FromContext(ctx).Info("The provider now offers what a controller needs", "controller", s.Name)
	if isOurs(s) && p.idle.Swap(false) {
		p.metrics.idle.Set(0)
	}
}

func isOurs(s started) bool {
	return slices.ContainsFunc(settings.Ours(), func(c settings.Controller) bool { return c.Name == s.Name })
}

// offers returns a text about the interfaces that the provider offers.
func (p *Process) offers() string {
	if gateway := p.gateway.Load(); gateway != nil {
		return gateway.Offers()
	}
	return "is not asked before this replica leads"
}

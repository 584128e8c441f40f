package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Current holds the provider in use. Until Take is called, another provider can replace
// it. Afterwards it is initialised and can no longer be replaced, because a process
// initialises only one provider.
type Current struct {
	factory *Factory
	timeout time.Duration
	self    Self

	mu    sync.Mutex
	made  Made // guarded by mu
	taken bool // guarded by mu
}

// NewCurrent returns the Current of a provider that the factory has made. The
// argument timeout bounds each step of a change to another configuration. The
// argument self says how to start this program again, to try another configuration.
func NewCurrent(f *Factory, made Made, timeout time.Duration, self Self) *Current {
	return &Current{factory: f, timeout: timeout, self: self, made: made}
}

// Take returns the provider to initialise. Afterwards, the provider can no longer be
// replaced.
func (c *Current) Take() Made {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	return c.made
}

// leads reports whether this replica leads, which means that Take has been called.
func (c *Current) leads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

func (c *Current) get() Made {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// Drop ends the provider's context Deps.Lasting. It must not be called while the
// provider is in use.
func (c *Current) Drop() { c.get().Drop() }

// replace puts another provider in the place of the current one, and drops the former
// one. If the current provider can no longer be replaced, replace drops the other
// provider and returns false.
func (c *Current) replace(next Made) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		next.Drop()
		return false
	}
	c.made.Drop()
	c.made = next
	return true
}

// rotate puts the content of the provider's files into use. A provider that can
// reload does so. If it cannot, a new provider replaces it, but only before this
// replica leads. From then on, only a new process can use the new content. Refused
// content changes nothing.
func (c *Current) rotate(ctx context.Context) (outcome, error) {
	if r := c.get().Cloud; r.CanReload() {
		if err := c.reload(ctx, r); err != nil {
			return refused, err
		}
		return applied, nil
	}
	return c.remake(ctx)
}

// remake takes the steps that the function decide returns, one after the other, until a
// step ends the change.
func (c *Current) remake(ctx context.Context) (outcome, error) {
	o := observed{leads: c.leads()}
	var next Made
	var tryErr, makeErr error
	for {
		switch p := decide(o); p.do {
		case try:
			o.tried, tryErr = c.tryElsewhere(ctx)
		case create:
			o.made = accepted
			if next, makeErr = c.makeHere(ctx); makeErr != nil {
				o.made = rejected
			}
		case replace:
			if c.replace(next) {
				return applied, nil
			}
			o.leads = true
		case end:
			next.Drop() // next was made only as a check, or not at all.
			klog.FromContext(ctx).Info("Only a new process can use the new configuration", "why", p.why)
			return restart, nil
		case refuse:
			if o.tried == rejected { // A new process has refused, and its error says why.
				return refused, tryErr
			}
			return refused, fmt.Errorf("%w; and %w", makeErr, tryErr)
		}
	}
}

func (c *Current) tryElsewhere(ctx context.Context) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.self.try(ctx)
}

func (c *Current) makeHere(ctx context.Context) (Made, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.factory.Make(ctx)
}

// reload passes the file to the provider.
func (c *Current) reload(ctx context.Context, r *cloud.Provider) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	config, done, err := c.factory.open()
	if err != nil {
		return err
	}
	if err := r.Reload(ctx, config, done); err != nil {
		return fmt.Errorf("%s: %w", c.factory.describe(), err)
	}
	return nil
}

package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Current is the provider in use. It can be replaced until Take is called,
// because a provider is initialised only once in a process.
type Current struct {
	factory *Factory
	timeout time.Duration

	mu    sync.Mutex
	made  Made // guarded by mu
	taken bool // guarded by mu
}

// NewCurrent returns a provider that the factory has made. The timeout bounds
// each change to another configuration.
func NewCurrent(f *Factory, made Made, timeout time.Duration) *Current {
	return &Current{factory: f, timeout: timeout, made: made}
}

// Take returns the provider to initialise. It cannot be replaced afterwards.
func (c *Current) Take() Made {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	return c.made
}

func (c *Current) get() Made {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// Drop ends the context Lasting of the provider. It must not be called while the
// provider is in use.
func (c *Current) Drop() { c.get().Drop() }

// replace replaces the provider, and drops the former one. It returns false if the
// provider cannot be replaced any more; then it drops next.
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
// reload does so. Otherwise a new provider replaces it, but only before this
// replica leads. After that, only a new process can use the new content. Refused
// content changes nothing.
func (c *Current) rotate(ctx context.Context) (outcome, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if r := c.get().Cloud; r.CanReload() {
		if err := c.reload(bounded, r); err != nil {
			return refused, err
		}
		return applied, nil
	}
	next, err := c.factory.Make(bounded)
	switch {
	case err != nil:
		return refused, err
	case c.replace(next):
		return applied, nil
	}
	return restart, nil
}

// reload passes the file to the provider.
func (c *Current) reload(ctx context.Context, r *cloud.Provider) error {
	config, done, err := c.factory.open()
	if err != nil {
		return err
	}
	if err := r.Reload(ctx, config, done); err != nil {
		return fmt.Errorf("%s: %w", c.factory.describe(), err)
	}
	return nil
}

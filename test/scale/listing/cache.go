package listing

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// lister lists all instances.
type lister func(context.Context) ([]simulator.Instance, error)

// cached returns a lister that lists at most once in the time Kept, as the providers of
// several vendors do. Callers wait while another one lists. Errors are not kept.
func cached(list lister, c clock.PassiveClock) lister {
	var (
		mu   sync.Mutex
		last []simulator.Instance // guarded by mu
		at   time.Time            // guarded by mu
	)
	return func(ctx context.Context) ([]simulator.Instance, error) {
		mu.Lock()
		defer mu.Unlock()
		if !at.IsZero() && c.Since(at) < Kept {
			return last, nil
		}
		all, err := list(ctx)
		if err == nil {
			last, at = all, c.Now()
		}
		return all, err
	}
}

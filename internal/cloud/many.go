package cloud

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// If a call about many objects fails as a whole, one of the objects might be the cause.
// So objects are then changed one by one for the time aloneFor.
const aloneFor = time.Minute

// ErrAlone means that an object needs a call of its own. The call about many objects
// has failed, or says nothing about this object.
var ErrAlone = errors.New("it is changed alone")

// manyChanges makes calls that change many objects.
type manyChanges struct {
	changes *changes

	mu    sync.Mutex
	alone time.Time // the time until which objects are changed one by one; guarded by mu
}

// oneByOne reports whether objects are changed one by one for now.
func (m *manyChanges) oneByOne() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.alone) || m.changes.keys.hangs()
}

// carryOut makes one call about the objects with these keys, and then frees the keys.
// It returns the time at which the last try began or, after a failure, the time at
// which carryOut was called. The error is ErrAlone if two conditions are met: one of
// the objects might be the cause of the failure, and there is time for a call about
// each object.
func (m *manyChanges) carryOut(ctx context.Context, c call, keys []string, f func(context.Context) error) (began time.Time, err error) {
	m.changes.keys.join(keys, c.method)
	arrived := time.Now()
	var tried time.Time // read only after a success: an abandoned call may still write it
	err = m.changes.carryOut(ctx, c, keys, func(ctx context.Context) error {
		tried = time.Now()
		return f(ctx)
	})
	if err == nil {
		return tried, nil
	}
	if !mayBeOfOne(err) {
		return arrived, err
	}
	m.mu.Lock()
	m.alone = time.Now().Add(aloneFor)
	if KindOf(err) == Panicked {
		m.alone = time.Now().Add(max(aloneFor, RetryAfter(err)))
	}
	m.mu.Unlock()
	if KindOf(err) == TimedOut || time.Since(arrived) > aloneFor {
		return arrived, err // A second call could last so long that the worker counts as stuck.
	}
	return arrived, ErrAlone
}

// mayBeOfOne reports whether a single object might be the cause of the error of a call
// about many objects. A separate call for each object then shows which one it is.
func mayBeOfOne(err error) bool {
	return !slices.Contains([]Kind{Throttled, Denied, Unavailable, Slow, Canceled}, KindOf(err))
}

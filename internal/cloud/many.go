package cloud

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// aloneFor is how long objects are changed one by one after a call about many of
// them has failed as a whole, because one of them may be the cause.
const aloneFor = time.Minute

// ErrAlone means that an object of a call about many is to be changed with a call of
// its own: the shared one was not made, or says nothing about this object.
var ErrAlone = errors.New("it is changed alone")

// manyChanges makes calls that change many objects.
type manyChanges struct {
	changes *changes

	mu    sync.Mutex
	alone time.Time // until when objects are changed one by one; guarded by mu
}

// oneByOne reports whether objects are changed one by one for now.
func (m *manyChanges) oneByOne() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.alone) || m.changes.keys.hangs()
}

// carryOut makes the call about the objects that hold these keys, and frees the keys.
// After a success, began is the beginning of the last try; after a failure, it is the
// time at which carryOut was called. The error is ErrAlone if one of the objects may be
// why the call has failed.
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
		return arrived, err // Another call could take so long that the worker counts as stuck.
	}
	return arrived, ErrAlone
}

// mayBeOfOne reports whether a call about many objects may have failed because of one
// of them. Then calls about each of them find out which one.
func mayBeOfOne(err error) bool {
	return !slices.Contains([]Kind{Throttled, Denied, Unavailable, Slow, Canceled}, KindOf(err))
}

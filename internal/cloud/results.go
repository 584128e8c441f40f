package cloud

import (
	"context"
	"time"
)

// objectResult is the result of a call about many objects for one of them.
type objectResult struct {
	known bool
	err   error
}

// resultsFor returns the result for each of n objects. The function named of takes one of the
// provider's results, and returns the index of the object and the error. An object without a
// result, or with two results that differ, gets the zero objectResult. An index out of range
// shows that the provider counts in another way. Then all objects get the zero objectResult.
func resultsFor[T any](n int, theirs []T, of func(T) (int, error)) []objectResult {
	results, differ := make([]objectResult, n), make([]bool, n)
	for _, t := range theirs {
		i, err := of(t)
		if i < 0 || i >= n {
			return make([]objectResult, n)
		}
		differ[i] = differ[i] || results[i].known && (results[i].err == nil) != (err == nil)
		if !results[i].known {
			results[i] = objectResult{true, err}
		}
	}
	for i := range results {
		if differ[i] {
			results[i] = objectResult{}
		}
	}
	return results
}

// conclude returns the error for one object in a call about many objects. The
// call began at started. c describes the call as if it were about this object
// alone.
func (g *Gateway) conclude(ctx context.Context, c call, started time.Time, r objectResult) error {
	if !r.known {
		return ErrAlone
	}
	err := g.wrap(ctx, c, r.err)
	if err != nil {
		g.adapt(ctx, c, started, err)
	}
	return err
}

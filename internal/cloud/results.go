package cloud

import (
	"context"
	"time"
)

// objectResult is what a call about many objects has returned for one of them.
type objectResult struct {
	known bool
	err   error
}

// resultsFor returns the result for each of n objects. The last parameter is a function
// that takes one of the provider's results, and returns the index of its object and its
// error. An object with no result, or with both a success and a failure, gets the zero
// objectResult. If an index is out of range, the provider counts the objects in another
// way, so all objects get the zero objectResult.
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

// conclude returns the error for one object in a call about many objects. The call
// began at started. The names in c are those of this object.
func (g *Gateway) conclude(ctx context.Context, c call, started time.Time, r objectResult) error {
	if !r.known {
		return ErrAlone
	}
	err := g.wrap(ctx, c, r.err)
	if err == nil {
		g.limiter.answeredFor(c)
		return nil
	}
	g.adapt(ctx, c, started, err)
	return err
}

package cloud

import (
	"context"
	"time"
)

// objectResult is what a call about many objects says of one of them.
type objectResult struct {
	known bool
	err   error
}

// resultsFor returns the result for each of n objects. The function of takes one of the
// provider's results, and returns the index of its object and its error. Nothing is known of an
// object without a result, or with two that differ. If a result is about an object
// that was not asked for, the provider's indexes are not those of the question, and
// nothing is known of any object.
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

// conclude returns the error of one object in a call about many that began at
// started. c is the call as if it were about this object alone.
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

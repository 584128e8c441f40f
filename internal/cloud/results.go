package cloud

import "errors"

// errAlone means that a change is to be made with a call of its own.
var errAlone = errors.New("the change is made alone")

// mayBeOfOne reports whether a call about many objects may have failed because of one
// of them. Then calls about each of them find out which one.
func mayBeOfOne(err error) bool {
	switch KindOf(err) {
	case Throttled, Denied, Unavailable, Slow, Canceled:
		return false
	case Succeeded, Failed, NotFound, NotImplemented, Elsewhere, Pending, Invalid, Conflict, QuotaExceeded, TimedOut, Panicked, NoAnswer:
	}
	return true
}

// objectResult is what a call about many objects says of one of them.
type objectResult struct {
	known bool
	err   error
}

// resultsFor returns the result for each of n objects. of returns the object's index
// and the error of a result of the provider. Nothing is known of an object without a
// result, or with two that differ. If a result is about an object that was not asked
// for, the provider counts otherwise, and nothing is known of any object.
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

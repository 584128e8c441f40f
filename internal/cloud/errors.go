package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Kind says what became of a call. It is a label of metrics and the root of
// reasons on objects, so the set is closed.
type Kind string

// The kinds. Only NotFound is an answer about the instance. NotImplemented is
// an answer about the provider. After all other failures it is not known
// whether the instance exists.
const (
	Succeeded      Kind = "Succeeded"
	Failed         Kind = "Failed"         // an error that nobody could classify
	NotFound       Kind = "NotFound"       // the cloud knows no such instance
	NotImplemented Kind = "NotImplemented" // the provider does not offer this
	Elsewhere      Kind = "Elsewhere"      // somebody else does this for the provider
	Pending        Kind = "Pending"        // the provider asks to be called again, see RetryAfter
	Throttled      Kind = "Throttled"      // the quota of the cloud is used up
	Denied         Kind = "Denied"         // credentials or permissions
	Invalid        Kind = "Invalid"        // the cloud will never accept this
	Unavailable    Kind = "Unavailable"    // the cloud is not reachable or broken
	Slow           Kind = "Slow"           // no answer yet; the call is still under way
	TimedOut       Kind = "TimedOut"       // the deadline has passed
	Panicked       Kind = "Panicked"       // the provider's code panicked
	NoAnswer       Kind = "NoAnswer"       // neither a result nor an error
	Canceled       Kind = "Canceled"       // this process is ending
)

// Error is what became of a call to the provider.
type Error struct {
	// Call is the name of the provider's method.
	Call string
	Kind Kind
	// RetryAfter is how long the cloud asked to be left alone; 0 = it did not say.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Call, e.Err) }

// Unwrap returns the provider's own error.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, Failed for any other
// error, and Succeeded for nil.
func KindOf(err error) Kind {
	if err == nil {
		return Succeeded
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Failed
}

// RetryAfter returns how long to wait before the same call is made again, 0 if
// neither the cloud nor the provider has said.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// classify gives a provider's error its kind. Sentinels of the contract come
// first, then the provider's own classification, then what its error looks
// like. A typed nil, which panics when it is read, is Failed.
func classify(err error, own provider.Classification) (kind Kind, pause time.Duration) {
	defer func() {
		if recover() != nil {
			kind = Failed
		}
	}()
	find(err, func(err error) bool {
		retry, ok := err.(*api.RetryError) //nolint:errorlint // find does the unwrapping, through Aggregates too
		if ok {
			pause = retry.RetryAfter()
		}
		return ok
	})
	switch {
	case is(err, cloudprovider.InstanceNotFound):
		return NotFound, pause
	case is(err, cloudprovider.NotImplemented):
		return NotImplemented, pause
	case is(err, cloudprovider.ImplementedElsewhere):
		return Elsewhere, pause
	case is(err, context.Canceled):
		return Canceled, pause
	}
	if own.Kind != provider.Unclassified {
		return Kind(own.Kind), max(own.RetryAfter, pause)
	}
	if is(err, context.DeadlineExceeded) {
		return TimedOut, pause
	}
	kind = looksLike(err)
	if kind == Failed && pause > 0 {
		kind = Pending
	}
	return kind, pause
}

// looksLike classifies an error by what it looks like. It reads the HTTP status
// that the errors of many SDKs offer, and looks for errors of the network.
// Clouds report a used up quota with different statuses, so it also looks for
// the words that they use for it.
func looksLike(err error) Kind {
	status := 0
	find(err, func(err error) bool {
		switch e := err.(type) { //nolint:errorlint // find does the unwrapping
		case interface{ HTTPStatusCode() int }:
			status = e.HTTPStatusCode()
		case interface{ StatusCode() int }:
			status = e.StatusCode()
		}
		return status != 0
	})
	switch {
	case status == http.StatusTooManyRequests, saysThrottled(err):
		return Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return Invalid
	case status >= http.StatusInternalServerError, isNetwork(err):
		return Unavailable
	default:
		return Failed
	}
}

func isNetwork(err error) bool {
	return find(err, func(err error) bool {
		_, ok := err.(net.Error) //nolint:errorlint // find does the unwrapping
		return ok
	})
}

func saysThrottled(err error) bool {
	text := strings.ToLower(err.Error())
	for _, words := range []string{"too many requests", "throttl", "rate limit", "rate exceeded", "ratelimitexceeded", "requestlimitexceeded"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func is(err, target error) bool {
	return find(err, func(err error) bool { return err == target }) //nolint:errorlint // find does the unwrapping
}

// find looks through an error and all that it wraps. errors.As does not look
// into the Aggregates of apimachinery.
func find(err error, matches func(error) bool) bool {
	if err == nil {
		return false
	}
	if matches(err) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping
	case interface{ Unwrap() error }:
		return find(e.Unwrap(), matches)
	case interface{ Unwrap() []error }:
		return findAny(e.Unwrap(), matches)
	case interface{ Errors() []error }:
		return findAny(e.Errors(), matches)
	}
	return false
}

func findAny(errs []error, matches func(error) bool) bool {
	for _, err := range errs {
		if find(err, matches) {
			return true
		}
	}
	return false
}

package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Kind is the kind of the outcome of a call. The set of kinds is closed, because kinds
// appear as label values of metrics and in reasons on objects.
type Kind string

// The kinds. NotFound is the only failure that says something about the instance. After
// any other failure, it is unknown whether the instance exists.
const (
	Succeeded      Kind = "Succeeded"
	Failed         Kind = "Failed"         // any other error
	NotFound       Kind = "NotFound"       // the cloud knows no such instance
	NotImplemented Kind = "NotImplemented" // the provider does not offer this
	Elsewhere      Kind = "Elsewhere"      // another component does this instead of the provider
	Pending        Kind = "Pending"        // the provider asks to be called again, see RetryAfter
	Throttled      Kind = "Throttled"      // the request quota of the cloud is used up
	Denied         Kind = "Denied"         // the cloud does not accept the credentials, or a permission is missing
	Invalid        Kind = "Invalid"        // the cloud will never accept this
	Unavailable    Kind = "Unavailable"    // the cloud cannot be reached or has an internal error
	Conflict       Kind = "Conflict"       // the cloud's object is locked or busy
	QuotaExceeded  Kind = "QuotaExceeded"  // the account has reached a limit, such as its number of load balancers
	Slow           Kind = "Slow"           // no answer yet, because this call or an earlier one is still under way
	TimedOut       Kind = "TimedOut"       // the deadline has passed
	Panicked       Kind = "Panicked"       // the provider's code panicked
	NoAnswer       Kind = "NoAnswer"       // neither a result nor an error
	Canceled       Kind = "Canceled"       // this process is ending
)

// Evidence is the source from which the kind of an error was derived.
type Evidence string

// The values of Evidence. The zero value is the weakest.
const (
	// Unread means that the error could not be classified. Its kind is Failed. A
	// known error such as a status 404 is Failed, too, because it has no Kind of
	// its own. But its evidence is not Unread.
	Unread Evidence = ""
	// Text means that the kind was derived from words or a number in the error's text.
	// The text may quote names that users have chosen. So the error alone says nothing
	// about other objects.
	Text Evidence = "Text"
	// Typed means that the kind was derived from a sentinel, a status, a code or a
	// classifier. Such an error can say something about the whole cloud.
	Typed Evidence = "Typed"
)

// Error is the error of a call to the provider.
type Error struct {
	// Call is the name of the provider's method.
	Call string
	Kind Kind
	// RetryAfter is the time to wait before the same call is made again. The cloud,
	// the provider or the gateway can ask for it. It is 0 if none of them does.
	RetryAfter time.Duration
	// Evidence says how the Kind of a provider's error was found.
	Evidence Evidence
	Err      error
	// held means that the cloud is down for other objects, too, and might work
	// again after RetryAfter. The field parked means that the question waits in the
	// gateway until the outage ends.
	held, parked bool
	// unmade means that the call was not made.
	unmade bool
	// each means that a call about several objects has returned an error for each of
	// them. Those errors count, and this one does not.
	each bool
	// UnderWay means that the question has no answer yet: it waits for its turn, or its
	// call has not returned. A caller that asks the same question again may get this
	// answer.
	UnderWay bool
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Call, e.Err) }

// Unwrap returns the error of the provider or of the gateway.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of an error of this package. It returns Failed for any
// other error, and Succeeded for nil.
func KindOf(err error) Kind {
	if err == nil {
		return Succeeded
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Failed
}

// RetryAfter returns the RetryAfter of an error of this package, and 0 for any other
// error.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// HeldFor returns the time to wait before a call is tried again if the cloud is down
// for other objects, too. For that reason, the call has failed or was not made. Such an
// error says nothing about the object of the call. For any other error, HeldFor returns
// 0.
func HeldFor(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.held {
		return e.RetryAfter
	}
	return 0
}

// WasNotMade reports whether err says that the gateway has not made the call.
func WasNotMade(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.unmade
}

// IsUnderWay reports whether err is an error of this package with UnderWay set.
func IsUnderWay(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.UnderWay
}

func isParked(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.parked
}

func isOfEach(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.each
}

// EvidenceOf returns the Evidence of an error of this package, and Unread for any
// other error.
func EvidenceOf(err error) Evidence {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Evidence
	}
	return Unread
}

// saysSomething reports whether the classification is more than "unknown".
func saysSomething(c provider.Classification) bool {
	_, known := kinds[c.Kind]
	return known || c.Kind == provider.Unclassified && c.Known
}

// by applies the classification to the error. It returns false, and changes nothing, if
// the classification says nothing. If the classification says something but has no
// kind, the error stays Failed.
func (e *Error) by(c provider.Classification) bool {
	if !saysSomething(c) {
		return false
	}
	e.Evidence = Typed
	if kind, known := kinds[c.Kind]; known {
		e.Kind, e.RetryAfter = kind, max(c.RetryAfter, e.RetryAfter)
	}
	if c.FromText {
		e.Evidence = Text
	}
	return true
}

// kinds maps the kinds of a classification to those of this package. NotFound is
// not in the map, because only the sentinel of the contract is an answer about an
// instance.
var kinds = map[provider.ErrorKind]Kind{
	provider.Throttled:     Throttled,
	provider.Denied:        Denied,
	provider.Invalid:       Invalid,
	provider.Unavailable:   Unavailable,
	provider.Conflict:      Conflict,
	provider.QuotaExceeded: QuotaExceeded,
}

// sentinels are the errors of the contract. If an error wraps several sentinels,
// the first one in this list counts. ImplementedElsewhere counts only if nothing was
// joined with it. Otherwise one part of the work has failed, and this part would never
// be tried again.
var sentinels = []struct {
	err  error
	kind Kind
}{
	{cloudprovider.InstanceNotFound, NotFound},
	{cloudprovider.NotImplemented, NotImplemented},
	{cloudprovider.ImplementedElsewhere, Elsewhere},
	{context.Canceled, Canceled},
}

// classifier gives a provider's error its kind.
type classifier struct {
	// own is what the classifier of the program or of the provider says about the
	// error.
	own provider.Classification
	// names are the names of the call's object. If the text of an error quotes one of
	// them, the quoted name is not taken for the cloud's own words.
	names []string
}

// classify returns the error with its kind. It looks for a sentinel of the contract
// first. The second choice is the classification by the program or the provider, and
// the third is the status, code or text of the error. An error that panics when it is
// read, such as a typed nil, is Failed.
func (c classifier) classify(err error) (e Error) {
	e = Error{Kind: Failed, Err: err}
	defer func() {
		if recover() != nil {
			e = Error{Kind: Failed, Err: err}
		}
	}()
	newSearch(func(err error) bool {
		retry, ok := err.(*api.RetryError) //nolint:errorlint // find does the unwrapping, through Aggregates too
		if ok {
			e.RetryAfter = retry.RetryAfter()
		}
		return ok
	}).find(err)
	for _, sentinel := range sentinels {
		if is(err, sentinel.err) && (sentinel.kind != Elsewhere || isOnly(err, sentinel.err)) {
			e.Kind, e.Evidence = sentinel.kind, Typed
			return e
		}
	}
	if e.by(c.own) {
		return e
	}
	if is(err, context.DeadlineExceeded) {
		e.Kind, e.Evidence = TimedOut, Typed
		return e
	}
	e.by(provider.ClassifyAbout(err, c.names...))
	if e.Kind == Failed && e.RetryAfter > 0 {
		e.Kind, e.Evidence = Pending, Typed
	}
	return e
}

func is(err, target error) bool {
	return newSearch(func(err error) bool { return err == target }).find(err) //nolint:errorlint // find does the unwrapping
}

// isOnly reports whether the error is the target, possibly wrapped in more text, and
// whether nothing else is joined with it.
func isOnly(err, target error) bool {
	others := newSearch(func(err error) bool { return err != target && isLeaf(err) }) //nolint:errorlint // find does the unwrapping
	return !others.find(err) && others.left > 0
}

// isLeaf reports whether the error wraps no other error.
func isLeaf(err error) bool {
	return !slices.ContainsFunc(wrapped(err), func(err error) bool { return err != nil })
}

// maxErrors is the maximum number of errors that a search looks at. Without a
// bound, an error that wraps itself would end the process, because a stack overflow
// cannot be recovered. The bound is larger than any list of errors that a call
// returns.
const maxErrors = 10_000

// search looks for an error that matches.
type search struct {
	matches func(error) bool
	left    int // errors to look at
}

func newSearch(matches func(error) bool) *search { return &search{matches, maxErrors} }

// find reports whether an error, or an error that it wraps, matches. errors.As is
// not used, because it does not look into the Aggregates of apimachinery.
func (s *search) find(err error) bool {
	if err == nil || s.left == 0 {
		return false
	}
	s.left--
	return s.matches(err) || slices.ContainsFunc(wrapped(err), s.find)
}

// wrapped returns the errors that an error wraps.
func wrapped(err error) []error {
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Errors() []error }:
		return e.Errors()
	}
	return nil
}

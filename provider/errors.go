package provider

import "time"

// ErrorKind is what an error of the cloud means. The zero value means that
// nothing is known.
type ErrorKind string

// The kinds of errors. They are label values of metrics and reasons of
// conditions, so the set is closed.
const (
	// Unclassified means that the provider does not know the error.
	Unclassified ErrorKind = ""
	// Throttled means that the cloud's request quota is used up. The same call
	// will be accepted later.
	Throttled ErrorKind = "Throttled"
	// Denied means that credentials are missing, wrong, expired or not allowed
	// to do this. A permission has to be changed.
	Denied ErrorKind = "Denied"
	// Invalid means that the cloud understood the request and will never accept
	// it as it is. The object has to be changed.
	Invalid ErrorKind = "Invalid"
	// Unavailable means that the cloud could not be reached or had an internal
	// error.
	Unavailable ErrorKind = "Unavailable"
	// Conflict means that the cloud's object is locked, busy or was changed
	// meanwhile. The same call will be accepted later, without a change.
	Conflict ErrorKind = "Conflict"
	// QuotaExceeded means that the account may not have more of something, such
	// as load balancers. Calls are not too frequent. The quota has to be raised,
	// or something has to be deleted.
	QuotaExceeded ErrorKind = "QuotaExceeded"
)

// Classification is what a provider knows about one of its own errors.
type Classification struct {
	Kind ErrorKind
	// RetryAfter is how long the cloud asked to wait before the next call; 0
	// means that it did not say. It is read only with Throttled, Unavailable and
	// Conflict.
	RetryAfter time.Duration
	// Known means that the provider knows the error, although it is of no kind. An
	// example is an object that is not found. Then no other rule classifies the
	// error. If Kind is set, Known is ignored.
	Known bool
	// FromText means that the kind was read from words or a number in the text
	// of the error, which may quote names that users have chosen. Such an error says
	// something about the object of its call. On its own it says nothing about
	// the whole cloud. A classifier that recognises its error by a type, a
	// status or a code leaves FromText false.
	FromText bool
}

// ErrorClassifier is a cloudprovider.Interface that can classify the errors which
// its own methods return. Without it, errors are read by Classify, which recognises
// those of the common SDKs by their shape.
type ErrorClassifier interface {
	// ClassifyError must find a known error through wrapping and must not do I/O. It
	// returns Classification{} for an error that it does not know. Then Classify is
	// called with that error.
	ClassifyError(err error) Classification
}

package provider

import "time"

// ErrorKind is the meaning of an error of the cloud. The zero value means that
// nothing is known.
type ErrorKind string

// The kinds of errors. A provider cannot add kinds, because metrics use them as
// label values and conditions use them as reasons.
const (
	// Unclassified means that the provider does not know the error.
	Unclassified ErrorKind = ""
	// Throttled means that the cloud's request quota is used up. The same call
	// will be accepted later.
	Throttled ErrorKind = "Throttled"
	// Denied means that the credentials are missing, wrong or expired, or that
	// they do not allow the call. Somebody has to change the credentials or a
	// permission.
	Denied ErrorKind = "Denied"
	// Invalid means that the cloud understood the request and will never accept
	// it as it is. Somebody has to change the object.
	Invalid ErrorKind = "Invalid"
	// Unavailable means that the cloud could not be reached or had an internal
	// error.
	Unavailable ErrorKind = "Unavailable"
	// Conflict means that the cloud's object is locked or busy, or that somebody
	// else has just changed it. The same call will be accepted later.
	Conflict ErrorKind = "Conflict"
	// QuotaExceeded means that the account is not allowed to have more of
	// something, such as load balancers. It does not mean that calls are too
	// frequent. Somebody has to raise the quota or delete something.
	QuotaExceeded ErrorKind = "QuotaExceeded"
)

// Classification is what a provider knows about one of its own errors.
type Classification struct {
	Kind ErrorKind
	// RetryAfter is the time to wait before the next call. 0 means that the
	// cloud named no time. RetryAfter is ignored unless Kind is Throttled,
	// Unavailable or Conflict.
	RetryAfter time.Duration
	// Known means that the provider knows the error, although no kind fits it.
	// An example is the error for an object that is not found. If Known is set,
	// no other rule classifies the error. If Kind is set, Known is ignored.
	Known bool
	// FromText means that the kind was read from words or a number in the text of
	// the error. That text may quote names that users have chosen. So the kind
	// applies only to the object of the call: such an error alone says nothing
	// about other objects. A classifier that recognises its error by a type, a
	// status or a code leaves FromText false.
	FromText bool
}

// ErrorClassifier is a cloudprovider.Interface that can classify the errors of its
// own methods.
//
// Without it, the daemon calls Classify, which recognises the errors of the common
// SDKs by their shape.
type ErrorClassifier interface {
	// ClassifyError must also recognise an error that is wrapped. It must not do
	// I/O. It returns Classification{} for an error that it does not know. The
	// daemon then calls Classify with that error.
	ClassifyError(err error) Classification
}

package provider

import "time"

// ErrorKind says what an error of the cloud means for whoever waits. The zero
// value is the harmless one: nobody could tell.
type ErrorKind string

// The kinds of errors. They are label values of metrics and reasons of
// conditions, so the set is closed.
const (
	// Unclassified is an error nobody could classify.
	Unclassified ErrorKind = ""
	// Throttled means that the cloud's request quota is used up. The same call
	// will be accepted later.
	Throttled ErrorKind = "Throttled"
	// Denied means that credentials are missing, wrong, expired or not allowed
	// to do this. Someone has to change a permission.
	Denied ErrorKind = "Denied"
	// Invalid means that the cloud understood the request and will never accept
	// it as it is. Someone has to change the object.
	Invalid ErrorKind = "Invalid"
	// Unavailable means that the cloud could not be reached or failed inside.
	Unavailable ErrorKind = "Unavailable"
)

// Classification is what a provider knows of one of its own errors.
type Classification struct {
	Kind ErrorKind
	// RetryAfter is how long the cloud asked to be left alone; 0 means that it
	// did not say. Only read with Throttled and Unavailable.
	RetryAfter time.Duration
}

// ErrorClassifier is a cloudprovider.Interface that can classify the errors
// which its own methods return. ClassifyError must find a known error through
// wrapping and must answer without I/O. It answers Classification{} for what
// it does not know.
type ErrorClassifier interface {
	ClassifyError(err error) Classification
}

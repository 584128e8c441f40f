package kit

import (
	"errors"
	"fmt"
)

// InvalidError is an error that stays until somebody corrects what they have
// written, such as an annotation or the configuration file.
type InvalidError struct{ err error }

// Invalidf returns an *InvalidError. It has the same parameters as fmt.Errorf.
func Invalidf(format string, args ...any) error {
	return &InvalidError{err: fmt.Errorf(format, args...)}
}

// Error implements error.
func (e *InvalidError) Error() string { return e.err.Error() }

// Unwrap returns the error that was passed to Invalidf with %w, or nil if there was
// none or more than one.
func (e *InvalidError) Unwrap() error { return errors.Unwrap(e.err) }

// ErrorCode returns the code by which provider.Classify recognises the error.
func (e *InvalidError) ErrorCode() string { return "Invalid" }

// Join is like errors.Join, but its error is one line, because a log record and an
// event are one line. It returns nil if all errors are nil.
func Join(all ...error) error {
	var joined error
	for _, err := range all {
		switch {
		case err == nil:
		case joined == nil:
			joined = err
		default:
			joined = fmt.Errorf("%w; %w", joined, err)
		}
	}
	return joined
}

// Package wire holds the types of the simulated cloud's HTTP API as they are
// encoded in JSON, and the errors and paths of the API.
//
// It imports no other package of the simulator. All of them may import it. Programs use
// package simulator, which has an alias for each type that they need.
package wire

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The paths of the API. Both serve the same resources.
const (
	// CustomerPath is for customers. Calls are counted, and the quota and the
	// faults apply to them.
	CustomerPath = "/v1"
	// OperatorPath is for the operator. Calls are not counted, and no faults apply
	// to them.
	OperatorPath = "/operator/v1"
)

// The codes of errors in an answer.
const (
	CodeInvalid      = "Invalid"
	CodeUnauthorized = "Unauthorized"
	CodeForbidden    = "Forbidden"
	CodeNotFound     = "NotFound"
	CodeUnknownPath  = "UnknownPath"
	// CodeExpired means that the cloud's log no longer reaches back to the place in the
	// request.
	CodeExpired  = "Expired"
	CodeConflict = "Conflict"
	// CodeTargetNotFound means that no instance has the TargetName of a new route.
	CodeTargetNotFound = "TargetNotFound"
	// CodeAlreadyExists means that the name belongs to another resource.
	CodeAlreadyExists = "AlreadyExists"
	// CodeQuotaExceeded means that the account may not have more resources of
	// this kind.
	CodeQuotaExceeded = "QuotaExceeded"
	CodeThrottled     = "Throttled"
	CodeInternal      = "Internal"
	CodeUnavailable   = "Unavailable"
)

// APIError is an error in an answer of the cloud.
type APIError struct {
	StatusCode int
	// Code is one of the Code constants; empty if the answer did not come
	// from a simulated cloud.
	Code    string
	Message string
	// RetryAfter is the time that the cloud asks the caller to wait; 0 if it did
	// not ask.
	RetryAfter time.Duration
}

// Error implements error.
func (e *APIError) Error() string {
	text := fmt.Sprintf("the cloud answered %d", e.StatusCode)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// IsNotFound reports whether err is the cloud's answer that a resource does not
// exist. It reports false for a 404 of a proxy or for an unknown path.
func IsNotFound(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.StatusCode == http.StatusNotFound && e.Code == CodeNotFound
}

// IsExpired reports whether err is the cloud's answer that its log no longer reaches back
// to the place in the request.
func IsExpired(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Code == CodeExpired
}

// IsAlreadyExists reports whether err is the cloud's answer that the name
// belongs to another resource.
func IsAlreadyExists(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Code == CodeAlreadyExists
}

// ErrorBody is the JSON of an answer with an error.
type ErrorBody struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail says what went wrong.
type ErrorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// List is one page of resources, ordered by ID.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue is the value of the query parameter "continue" in a request for the
	// next page. It is empty on the last page.
	Continue string `json:"continue,omitempty"`
}

// Duration is a time.Duration that is written in Go's notation, such as
// "1m30s".
type Duration time.Duration

// String returns the duration in Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30ms or 1m", text)
	}
	*d = Duration(parsed)
	return nil
}

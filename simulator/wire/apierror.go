package wire

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The codes of errors, as they stand in an answer.
const (
	CodeInvalid      = "Invalid"
	CodeUnauthorized = "Unauthorized"
	CodeForbidden    = "Forbidden"
	CodeNotFound     = "NotFound"
	CodeUnknownPath  = "UnknownPath"
	CodeConflict     = "Conflict"
	// CodeAlreadyExists means that the name belongs to another resource.
	CodeAlreadyExists = "AlreadyExists"
	// CodeQuotaExceeded means that the account may not have more of this.
	CodeQuotaExceeded = "QuotaExceeded"
	CodeThrottled     = "Throttled"
	CodeInternal      = "Internal"
	CodeUnavailable   = "Unavailable"
)

// APIError is an error that the cloud answered.
type APIError struct {
	StatusCode int
	// Code is one of the Code constants; empty if the answer did not come
	// from a simulated cloud.
	Code    string
	Message string
	// RetryAfter is how long the cloud asks the caller to wait; 0 if it did not.
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

// IsNotFound reports whether the cloud itself said that what was asked for
// does not exist. A 404 of a proxy, or for an unknown path, says no such thing.
func IsNotFound(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.StatusCode == http.StatusNotFound && e.Code == CodeNotFound
}

// IsAlreadyExists reports whether the cloud said that the name belongs to
// another resource.
func IsAlreadyExists(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Code == CodeAlreadyExists
}

// ErrorBody is how an error is written in an answer.
type ErrorBody struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail says what went wrong.
type ErrorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

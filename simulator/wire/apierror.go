package wire

import (
	"errors"
	"fmt"
	"net/http"
	"time"
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

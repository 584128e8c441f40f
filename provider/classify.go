package provider

import (
	"net"
	"net/http"
	"strings"
)

// Classify returns what an error of the cloud means, as far as its shape says.
// It knows the errors of the common SDKs by their methods, fields and texts, and
// imports none of them. It returns Classification{} for an error that it cannot
// read. It never panics. "Not found" is no kind: only the provider knows what
// was not found.
func Classify(err error) Classification { return ClassifyAbout(err) }

// ClassifyAbout is Classify for the error of a call about one object. Its names
// are not read as words of the cloud where the text quotes them.
func ClassifyAbout(err error, names ...string) Classification {
	_ = names
	status, network := 0, false
	walk(err, func(err error) {
		switch e := err.(type) { //nolint:errorlint // walk does the unwrapping
		case interface{ HTTPStatusCode() int }:
			status = e.HTTPStatusCode()
		case interface{ StatusCode() int }:
			status = e.StatusCode()
		case net.Error:
			network = true
		}
	})
	switch {
	case status == http.StatusTooManyRequests:
		return Classification{Kind: Throttled}
	case saysThrottled(err):
		return Classification{Kind: Throttled, FromText: true}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Classification{Kind: Denied}
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return Classification{Kind: Invalid}
	case status >= http.StatusInternalServerError:
		return Classification{Kind: Unavailable}
	case network:
		return Classification{Kind: Unavailable}
	}
	return Classification{}
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

// walk visits an error and all that it wraps, also in the Aggregates of
// apimachinery, which errors.As does not know.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			walk(err, visit)
		}
	case interface{ Errors() []error }:
		for _, err := range e.Errors() {
			walk(err, visit)
		}
	}
}

package provider

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxErrors is the largest number of wrapped errors that are read. The limit is
// necessary because an error may wrap itself.
const maxErrors = 64

// clues has everything that was read from an error and from the errors that it
// wraps. In each list, the entries of the outermost error come first.
type clues struct {
	visited  int
	codes    []string
	specific bool // a known code was found that has no kind
	statuses []int
	headers  []http.Header
	pauses   []time.Duration
	// inRequest means that an error of package net/url was found.
	inRequest bool
	// unreachable means that the network has failed.
	unreachable bool
	// untrusted means that the two sides cannot agree on TLS.
	untrusted bool
}

func collect(err error) *clues {
	c := &clues{}
	c.visit(err)
	return c
}

// safely calls a function, and recovers from its panic. For example, the methods of a
// typed nil may panic.
func safely(read func()) {
	defer func() { _ = recover() }()
	read()
}

func (c *clues) visit(err error) {
	if err == nil || c.visited == maxErrors {
		return
	}
	c.visited++
	safely(func() { c.network(err) })
	safely(func() { c.methods(err) })
	safely(func() { c.objects(reflect.ValueOf(err)) })
	safely(func() { c.fields(reflect.ValueOf(err)) })
	for _, wrapped := range unwrap(err) {
		c.visit(wrapped)
	}
}

// unwrap returns the errors that the error wraps. Aggregates of apimachinery and
// errors of older SDKs have a method other than Unwrap for this.
func unwrap(err error) (wrapped []error) {
	safely(func() {
		switch e := err.(type) { //nolint:errorlint // this is the unwrapping
		case interface{ Unwrap() error }:
			wrapped = []error{e.Unwrap()}
		case interface{ Unwrap() []error }:
			wrapped = e.Unwrap()
		case interface{ Errors() []error }:
			wrapped = e.Errors()
		case interface{ OrigErr() error }:
			wrapped = []error{e.OrigErr()}
		case interface{ Cause() error }:
			wrapped = []error{e.Cause()}
		}
	})
	return wrapped
}

func (c *clues) network(err error) {
	switch e := err.(type) { //nolint:errorlint // visit does the unwrapping
	case x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError, x509.SystemRootsError,
		*tls.CertificateVerificationError, tls.RecordHeaderError, tls.AlertError:
		c.untrusted = true
	case *net.OpError:
		remote := e.Op == "remote error" || e.Op == "local error" // alerts of TLS
		c.untrusted, c.unreachable = c.untrusted || remote, c.unreachable || !remote
	case *url.Error:
		c.inRequest = true
	case *net.AddrError, *net.ParseError, net.InvalidAddrError, net.UnknownNetworkError:
		// An address is malformed.
	case syscall.Errno:
		c.unreachable = c.unreachable || isBroken(e)
	case net.Error:
		c.unreachable = true
	default:
		if c.inRequest && (err == io.EOF || err == io.ErrUnexpectedEOF) { //nolint:errorlint // visit does the unwrapping, and ends
			c.unreachable = true
		}
	}
}

// isBroken reports whether the error is about a connection. Most other errors
// of the operating system are about files.
func isBroken(e syscall.Errno) bool {
	switch e { //nolint:exhaustive // only the errors of connections
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return true
	}
	return false
}

// methods calls the methods of an error that return a common type, such as string.
// c.objects calls the methods that return a type of the SDK.
func (c *clues) methods(err error) {
	if e, ok := err.(interface{ ErrorCode() string }); ok {
		safely(func() { c.code(e.ErrorCode()) })
	}
	if e, ok := err.(interface{ Code() string }); ok {
		safely(func() { c.code(e.Code()) })
	}
	if e, ok := err.(interface{ GetCode() string }); ok {
		safely(func() { c.code(e.GetCode()) })
	}
	if e, ok := err.(interface{ Status() metav1.Status }); ok {
		safely(func() { c.kubernetes(e.Status()) })
	}
	if e, ok := err.(interface{ RetryAfter() time.Duration }); ok {
		safely(func() { c.pauses = append(c.pauses, e.RetryAfter()) })
	}
	for _, read := range statusMethods {
		safely(func() { c.status(read(err)) })
	}
}

// statusMethods are functions that read the status. Each one calls one method of
// the error, and returns 0 if the error does not have that method.
var statusMethods = []func(error) int{
	func(err error) int {
		if e, ok := err.(interface{ HTTPStatusCode() int }); ok {
			return e.HTTPStatusCode()
		}
		return 0
	},
	func(err error) int {
		if e, ok := err.(interface{ StatusCode() int }); ok {
			return e.StatusCode()
		}
		return 0
	},
	func(err error) int {
		if e, ok := err.(interface{ GetStatusCode() int }); ok {
			return e.GetStatusCode()
		}
		return 0
	},
	func(err error) int {
		if e, ok := err.(interface{ GetHTTPStatusCode() int }); ok {
			return e.GetHTTPStatusCode()
		}
		return 0
	},
	func(err error) int {
		if e, ok := err.(interface{ Code() int }); ok {
			return e.Code()
		}
		return 0
	},
}

// kubernetes reads the status in an error of a Kubernetes API server. For some
// providers, such as KubeVirt's, an API server is the cloud.
func (c *clues) kubernetes(s metav1.Status) {
	c.status(int(s.Code))
	c.code(string(s.Reason))
	if s.Details != nil {
		c.pauses = append(c.pauses, time.Duration(s.Details.RetryAfterSeconds)*time.Second)
	}
}

func (c *clues) code(code string) {
	if code != "" && (isListed(code) || !strings.ContainsAny(code, " \t\n")) { // Some errors have a sentence in this field. It may quote names that users have chosen.
		c.codes = append(c.codes, code)
	}
}

func (c *clues) status(status int) {
	if status >= http.StatusBadRequest && status <= 599 {
		c.statuses = append(c.statuses, status)
	}
}

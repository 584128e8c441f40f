package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
)

// The types of this file have the shapes of errors that SDKs of clouds return. They
// are not copies of the SDKs' types. They imitate only what other packages can see,
// such as exported fields, methods and texts.

// answer returns an answer of a cloud.
func answer(status int, headers ...string) *http.Response {
	h := http.Header{"Date": {"Sun, 22 Nov 2026 12:00:00 GMT"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: h}
}

// hetzner is the error of hcloud-go: a value with a code and a wrapped answer.
type hetzner struct {
	Code    hetznerCode
	Message string

	response *hetznerResponse
}

type (
	hetznerCode     string
	hetznerResponse struct {
		*http.Response
		Meta struct{ Page int }
	}
)

func (e hetzner) Error() string              { return e.Message + " (" + string(e.Code) + ", 3f1b0c5d9a7e2c41)" }
func (e hetzner) Response() *hetznerResponse { return e.response }

// robot is the error of hrobot-go: a code in capitals, and no answer.
type robot struct {
	Code    string
	Message string
}

func (e robot) Error() string {
	return "server responded with an error: " + e.Message + " (" + e.Code + ")"
}

// digitalOcean is the error of godo: the answer is in a field.
type digitalOcean struct {
	Response *http.Response
	Message  string
}

func (e *digitalOcean) Error() string {
	return fmt.Sprintf("POST https://api.example.com/v2/load_balancers: %d (request 5f3a) %s", e.Response.StatusCode, e.Message)
}

// linode is the error of linodego.
type linode struct {
	Response *http.Response
	Code     int
	Message  string
}

func (e *linode) Error() string   { return fmt.Sprintf("[%03d] %s", e.Code, e.Message) }
func (e *linode) StatusCode() int { return e.Code }

// vultr returns an error like those of govultr. Such an error contains nothing but
// the body of the answer.
func vultr(body string) error { return errors.New(body) }

// ResponseError is the error of Scaleway's SDK.
type ResponseError struct {
	Message    string
	Type       string
	StatusCode int
	Status     string
}

func (e *ResponseError) Error() string {
	return "scaleway-sdk-go: http error " + e.Status + ": " + e.Message
}

func scaleway(status int, message string) error {
	return &ResponseError{Message: message, StatusCode: status, Status: answer(status).Status}
}

// These types are named like the errors of Scaleway's SDK that have no status.
type (
	PermissionsDeniedError    struct{ RawBody []byte }
	DeniedAuthenticationError struct{ Method, Reason string }
	QuotasExceededError       struct{ RawBody []byte }
	TransientStateError       struct{ Resource, CurrentState string }
	ResourceLockedError       struct{ Resource string }
	ResourceNotFoundError     struct{ Resource string }
	InvalidArgumentsError     struct{ RawBody []byte }
)

func (e *PermissionsDeniedError) Error() string {
	return "scaleway-sdk-go: insufficient permissions: write lb"
}

func (e *DeniedAuthenticationError) Error() string { return "scaleway-sdk-go: denied authentication" }

func (e *QuotasExceededError) Error() string {
	return "scaleway-sdk-go: quota exceeded(s): lb has reached its quota (5/5)"
}

func (e *TransientStateError) Error() string {
	return "scaleway-sdk-go: resource lb with ID 1 is in a transient state: updating"
}

func (e *ResourceLockedError) Error() string {
	return "scaleway-sdk-go: resource lb with ID 1 is locked"
}

func (e *ResourceNotFoundError) Error() string {
	return "scaleway-sdk-go: resource lb with ID 1 is not found"
}

func (e *InvalidArgumentsError) Error() string {
	return "scaleway-sdk-go: invalid argument(s): port does not respect constraint"
}

// openStack is the error of gophercloud: a value that has a status, headers and a
// body.
type openStack struct {
	URL            string
	Actual         int
	Body           []byte
	ResponseHeader http.Header
}

func (e openStack) Error() string {
	return fmt.Sprintf("Expected HTTP response code [200] when accessing [GET %s], but got %d instead: %s", e.URL, e.Actual, e.Body)
}
func (e openStack) GetStatusCode() int { return e.Actual }

func neutron(status int, body string, headers ...string) error {
	return openStack{"https://network.example.com:9696/v2.0/ports", status, []byte(body), answer(status, headers...).Header}
}

// amazon returns an error like those of the SDK of AWS. It is a chain: the
// operation wraps the answer, and the answer wraps the code.
func amazon(status int, code, message string, headers ...string) error {
	return &operation{&amazonResponse{&smithyResponse{answer(status, headers...)}, &amazonCode{code, message}}}
}

type (
	operation      struct{ Err error }
	smithyResponse struct{ *http.Response }
	amazonResponse struct {
		Response *smithyResponse
		Err      error
	}
	amazonCode struct{ code, message string }
)

func (e *operation) Error() string { return "operation error EC2: DescribeInstances, " + e.Err.Error() }
func (e *operation) Unwrap() error { return e.Err }
func (e *amazonResponse) Error() string {
	return fmt.Sprintf("https response error StatusCode: %d, RequestID: 7c1d, %v", e.HTTPStatusCode(), e.Err)
}
func (e *amazonResponse) Unwrap() error                 { return e.Err }
func (e *amazonResponse) HTTPStatusCode() int           { return e.Response.StatusCode }
func (e *amazonResponse) HTTPResponse() *smithyResponse { return e.Response }
func (e *amazonCode) Error() string                     { return "api error " + e.code + ": " + e.message }
func (e *amazonCode) ErrorCode() string                 { return e.code }

// azure is the error of azcore.
type azure struct {
	ErrorCode   string
	StatusCode  int
	RawResponse *http.Response
	body        string
}

func (e *azure) Error() string {
	return fmt.Sprintf("PUT https://management.example.com/lb\n---\nRESPONSE %d: %s\nERROR CODE: %s\n---\n%s", e.StatusCode, e.RawResponse.Status, e.ErrorCode, e.body)
}

func azcore(status int, code, body string, headers ...string) error {
	return &azure{code, status, answer(status, headers...), body}
}

// google is the error of googleapi.
type google struct {
	Code    int
	Message string
	Header  http.Header
	Errors  []struct{ Reason, Message string }
}

func (e *google) Error() string { return fmt.Sprintf("googleapi: Error %d: %s", e.Code, e.Message) }

func googleapi(status int, reason, message string, headers ...string) error {
	e := &google{Code: status, Message: message, Header: answer(status, headers...).Header}
	if reason != "" {
		e.Errors = []struct{ Reason, Message string }{{reason, message}}
	}
	return e
}

// oracle is the error of oci-go-sdk.
type oracle struct {
	status        int
	code, message string
}

func (e oracle) Error() string {
	return fmt.Sprintf("Error returned by LoadBalancer Service. Http Status Code: %d. Error Code: %s. Message: %s", e.status, e.code, e.message)
}
func (e oracle) GetHTTPStatusCode() int { return e.status }
func (e oracle) GetCode() string        { return e.code }

// vsphere is the error of govmomi. The type of the field fault says what happened.
type vsphere struct {
	fault any
	text  string
}

func (e vsphere) Error() string { return "ServerFaultCode: " + e.text }
func (e vsphere) Fault() any    { return e.fault }

type (
	NotAuthenticated      struct{ Object string }
	NoPermission          struct{ PrivilegeID string }
	InvalidLogin          struct{}
	TaskInProgress        struct{ Task string }
	HostCommunication     struct{}
	ManagedObjectNotFound struct{ Obj string }
	InvalidArgument       struct{ InvalidProperty string }
)

// retrieve is the error of oauth2.
type retrieve struct {
	Response  *http.Response
	ErrorCode string
}

func (e *retrieve) Error() string {
	return fmt.Sprintf("oauth2: %q %q", e.ErrorCode, "Invalid JWT Signature.")
}

// remote is the error of grpc-go. It has a status, the status has a code, and the
// code has a String method.
type (
	remote       struct{ code remoteCode }
	remoteStatus struct{ code remoteCode }
	remoteCode   uint32
)

func (e *remote) Error() string {
	return "rpc error: code = " + e.code.String() + " desc = it has failed"
}
func (e *remote) GRPCStatus() *remoteStatus { return &remoteStatus{e.code} }
func (s *remoteStatus) Code() remoteCode    { return s.code }
func (c remoteCode) String() string {
	return map[remoteCode]string{5: "NotFound", 7: "PermissionDenied", 8: "ResourceExhausted", 10: "Aborted", 14: "Unavailable", 16: "Unauthenticated"}[c]
}

// swallowed returns an error that has only the text of another error. Providers
// make such errors with %s.
func swallowed(err error) error {
	return fmt.Errorf("error ensuring load balancer: %s", err) //nolint:errorlint // as providers do
}

// broken is an error whose methods panic.
type broken struct{ hidden *http.Response }

func (e *broken) Error() string            { return e.hidden.Status }
func (e *broken) StatusCode() int          { return e.hidden.StatusCode }
func (e *broken) Code() string             { panic("in an accessor") }
func (e *broken) Response() *http.Response { panic(reflect.ValueOf(e)) }
func (e *broken) Unwrap() error            { panic("in Unwrap") }

// loop wraps itself twice.
type loop struct{}

func (e *loop) Error() string   { return "again" }
func (e *loop) Unwrap() []error { return []error{e, e} }

// ring wraps itself once.
type ring struct{}

func (e *ring) Error() string { return "again" }
func (e *ring) Unwrap() error { return e }

// hollow embeds a nil pointer, so its promoted fields cannot be read.
type hollow struct{ *http.Response }

func (e hollow) Error() string { return "hollow" }

package provider_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fairlead-k8s/fairlead/provider"
)

// TestKindsOfSDKs lists errors of the SDKs of clouds, each with its kind. "Not
// found" is never a kind.
func TestKindsOfSDKs(t *testing.T) {
	const (
		none        = provider.Unclassified
		throttled   = provider.Throttled
		denied      = provider.Denied
		invalid     = provider.Invalid
		unavailable = provider.Unavailable
		conflict    = provider.Conflict
		quota       = provider.QuotaExceeded
	)
	hcloud := func(status int, code, message string) error {
		return hetzner{hetznerCode(code), message, &hetznerResponse{Response: answer(status)}}
	}
	godo := func(status int, message string) error { return &digitalOcean{answer(status), message} }
	linodego := func(status int, message string) error { return &linode{answer(status), status, message} }
	for sdk, cells := range map[string][]struct {
		name string
		err  error
		kind provider.ErrorKind
		text bool
	}{
		"hcloud": {
			{"Throttled", hcloud(429, "rate_limit_exceeded", "limit of 3600 requests per hour reached"), throttled, false},
			{"ThrottledAsText", swallowed(hcloud(429, "rate_limit_exceeded", "limit reached")), throttled, true},
			{"Unauthorized", hcloud(401, "unauthorized", "unable to authenticate"), denied, false},
			{"UnauthorizedAsText", swallowed(hcloud(401, "unauthorized", "unable to authenticate")), denied, true},
			{"Forbidden", hcloud(403, "forbidden", "insufficient permissions"), denied, false},
			{"ReadOnlyToken", hcloud(403, "token_readonly", "token is only allowed to read"), denied, false},
			{"NotFound", hcloud(404, "not_found", "server not found"), none, false},
			{"ServerError", hcloud(500, "server_error", "an error occurred"), unavailable, false},
			{"Maintenance", hcloud(503, "maintenance", "under maintenance"), unavailable, false},
			{"PageOfAProxy", errors.New("hcloud: server responded with status code 502"), unavailable, true},
			{"Locked", hcloud(423, "locked", "load balancer is locked"), conflict, false},
			{"Conflict", hcloud(409, "conflict", "the resource changed during the request"), conflict, false},
			{"Quota", hcloud(403, "resource_limit_exceeded", "load balancer limit exceeded"), quota, false},
			{"Invalid", hcloud(422, "invalid_input", "invalid input in field name"), invalid, false},
			{"NameIsTaken", hcloud(409, "uniqueness_error", "name is already used"), none, false},
			{"DeletionIsProtected", hcloud(403, "protected", "load balancer is protected"), denied, false},
			{"WithoutAnAnswer", hetzner{Code: "rate_limit_exceeded", Message: "limit"}, throttled, false},
		},
		"hrobot": {
			{"Throttled", robot{"RATE_LIMIT_EXCEEDED", "rate limit exceeded"}, throttled, false},
			{"ThrottledAsText", swallowed(robot{"RATE_LIMIT_EXCEEDED", "slow"}), throttled, true},
			{"Unauthorized", robot{"UNAUTHORIZED", "unauthorized"}, denied, false},
			{"NotFound", robot{"SERVER_NOT_FOUND", "server not found"}, none, false},
			{"Unavailable", robot{"INTERNAL_ERROR", "internal error"}, unavailable, false},
			{"Conflict", robot{"CONFLICT", "conflict"}, conflict, false},
			{"Invalid", robot{"INVALID_INPUT", "invalid input"}, invalid, false},
		},
		"godo": {
			{"Throttled", godo(429, "API rate limit exceeded"), throttled, false},
			{"ThrottledAsText", swallowed(godo(429, "slow down")), throttled, true},
			{"Unauthorized", godo(401, "Unable to authenticate you"), denied, false},
			{"UnauthorizedAsText", swallowed(godo(401, "who are you")), denied, true},
			{"Forbidden", godo(403, "You are not authorized to perform this operation"), denied, false},
			{"NotFound", godo(404, "The resource you were accessing could not be found."), none, false},
			{"NotFoundAsText", swallowed(godo(404, "not found")), none, false},
			{"Unavailable", godo(503, "Service Unavailable"), unavailable, false},
			{"UnavailableAsText", swallowed(godo(500, "Server Error")), unavailable, true},
			{"Conflict", godo(409, "load balancer is not ready"), conflict, false},
			{"Quota", godo(422, "creating this load balancer will exceed your load balancer limit"), quota, true},
			{"QuotaIsForbidden", godo(403, "you have reached the limit of load balancers"), quota, true},
			{"Invalid", godo(422, "name is invalid"), invalid, false},
		},
		"linodego": {
			{"Throttled", linodego(429, "Too many requests"), throttled, false},
			{"ThrottledAsText", swallowed(linodego(429, "slow down")), throttled, true},
			{"Unauthorized", linodego(401, "Invalid Token"), denied, false},
			{"NotFound", linodego(404, "Not found"), none, false},
			{"Unavailable", linodego(502, "Bad Gateway"), unavailable, false},
			{"Busy", linodego(400, "Linode busy."), conflict, true},
			{"BusyAsText", swallowed(linodego(400, "Linode busy.")), conflict, true},
			{"Invalid", linodego(400, "[label] Label must be at least 3 characters"), invalid, true},
			{"RefusedForAnUnknownReason", linodego(400, "This is a problem."), none, false},
			{"Quota", linodego(400, "Account Limit reached. Please open a support ticket."), quota, true},
		},
		"govultr": {
			{"Throttled", vultr(`{"error":"Rate-limit hit","status":429}`), throttled, true},
			{"Unauthorized", vultr(`{"error":"Invalid API token.","status":401}`), denied, true},
			{"NotFound", vultr(`{"error":"Not found","status":404}`), none, false},
			{"Unavailable", vultr(`{"error":"Server error","status":500}`), unavailable, true},
			{"Locked", vultr(`{"error":"Server is currently locked","status":400}`), conflict, true},
			{"Quota", vultr(`{"error":"You have reached the maximum limit for load balancers","status":400}`), quota, true},
			{"Invalid", vultr(`{"error":"Invalid region","status":400}`), invalid, true},
			{"WithinAText", swallowed(vultr(`{"error":"Rate-limit hit","status":429}`)), throttled, true},
		},
		"scaleway": {
			{"Throttled", scaleway(429, "slow down"), throttled, false},
			{"ThrottledAsText", swallowed(scaleway(429, "slow down")), throttled, true},
			{"Unauthorized", scaleway(401, "who"), denied, false},
			{"PermissionsDenied", &PermissionsDeniedError{}, denied, false},
			{"PermissionsDeniedAsText", swallowed(&PermissionsDeniedError{}), denied, true},
			{"DeniedAuthentication", &DeniedAuthenticationError{Reason: "expired"}, denied, false},
			{"NotFound", &ResourceNotFoundError{}, none, false},
			{"Unavailable", scaleway(503, "down"), unavailable, false},
			{"UnavailableAsText", swallowed(scaleway(503, "down")), unavailable, true},
			{"TransientState", &TransientStateError{}, conflict, false},
			{"TransientStateAsText", swallowed(&TransientStateError{}), conflict, true},
			{"Locked", &ResourceLockedError{}, conflict, false},
			{"LockedAsText", swallowed(&ResourceLockedError{}), conflict, true},
			{"Quota", &QuotasExceededError{}, quota, false},
			{"QuotaAsText", swallowed(&QuotasExceededError{}), quota, true},
			{"Invalid", &InvalidArgumentsError{}, invalid, false},
		},
		"gophercloud": {
			{"Throttled", neutron(429, "slow down"), throttled, false},
			{"ThrottledAsText", swallowed(neutron(429, "slow down")), throttled, true},
			{"ThrottledWith498", neutron(498, "Rate limit"), throttled, false},
			{"OverLimit", neutron(413, `{"overLimit": {"code": 413}}`, "Retry-After", "30"), throttled, false},
			{"Unauthorized", neutron(401, "Authentication required"), denied, false},
			{"UnauthorizedAsText", swallowed(neutron(401, "who")), denied, true},
			{"Forbidden", neutron(403, "Policy does not allow it"), denied, false},
			{"NotFound", neutron(404, "Instance could not be found"), none, false},
			{"Unavailable", neutron(503, "No server is available"), unavailable, false},
			{"UnavailableAsText", swallowed(neutron(504, "Gateway")), unavailable, true},
			{"Immutable", neutron(409, `{"faultstring": "Load Balancer 5 is immutable and cannot be updated."}`), conflict, false},
			{"ImmutableAsText", swallowed(neutron(409, `{"faultstring": "Load Balancer 5 is immutable."}`)), conflict, true},
			{"Quota", neutron(409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port']."}}`), quota, true},
			{"QuotaIsForbidden", neutron(403, `{"faultstring": "Quota has been met for resources: LoadBalancer. Quota reached."}`), quota, true},
			{"Invalid", neutron(400, `{"faultstring": "Validation failure: 'protocol_port' is not valid"}`), invalid, true},
		},
		"aws": {
			{"Throttled", amazon(400, "Throttling", "Rate exceeded"), throttled, false},
			{"ThrottledAsText", swallowed(amazon(400, "ThrottlingException", "Rate exceeded")), throttled, true},
			{"RequestLimit", amazon(503, "RequestLimitExceeded", "Request limit exceeded."), throttled, false},
			{"AccessDenied", amazon(400, "AccessDenied", "is not authorized to perform"), denied, false},
			{"UnauthorizedOperation", amazon(403, "UnauthorizedOperation", "You are not authorized"), denied, false},
			{"ExpiredToken", amazon(400, "ExpiredToken", "The security token included in the request is expired"), denied, false},
			{"ExpiredTokenAsText", swallowed(amazon(400, "ExpiredToken", "expired")), denied, true},
			{"NotFound", amazon(400, "InvalidInstanceID.NotFound", "The instance ID 'i-1' does not exist"), none, false},
			{"NotFoundAsText", swallowed(amazon(400, "InvalidInstanceID.NotFound", "The instance ID does not exist")), none, false},
			{"Unavailable", amazon(503, "Unavailable", "Service is down"), unavailable, false},
			{"InternalError", amazon(500, "InternalError", "An internal error has occurred"), unavailable, false},
			{"InUse", amazon(400, "ResourceInUse", "Target group is in use"), conflict, false},
			{"DependencyViolation", amazon(400, "DependencyViolation", "resource sg-1 has a dependent object"), conflict, false},
			{"Quota", amazon(400, "TooManyLoadBalancers", "The maximum has been reached"), quota, false},
			{"QuotaOfAVPC", amazon(400, "RulesPerSecurityGroupLimitExceeded", "The maximum number of rules has been reached"), quota, false},
			{"Invalid", amazon(400, "InvalidParameterValue", "bad value"), invalid, false},
			{"Validation", amazon(400, "ValidationError", "1 validation error detected"), invalid, false},
			{"UnknownCode", amazon(400, "OperationNotPermitted", "no"), none, false},
		},
		"azcore": {
			{"Throttled", azcore(429, "TooManyRequests", ""), throttled, false},
			{"ThrottledAsText", swallowed(azcore(429, "SubscriptionRequestsThrottled", "")), throttled, true},
			{"Denied", azcore(403, "AuthorizationFailed", "the client does not have authorization"), denied, false},
			{"Unauthorized", azcore(401, "ExpiredAuthenticationToken", "expired"), denied, false},
			{"UnauthorizedAsText", swallowed(azcore(401, "", "")), denied, true},
			{"NotFound", azcore(404, "ResourceNotFound", "the resource was not found"), none, false},
			{"Unavailable", azcore(500, "InternalServerError", ""), unavailable, false},
			{"AnotherOperation", azcore(409, "AnotherOperationInProgress", ""), conflict, false},
			{"Precondition", azcore(412, "PreconditionFailed", ""), conflict, false},
			{"PreconditionWithoutCode", azcore(412, "", ""), conflict, false},
			{"AnyCodeWith429", azcore(429, "RetryableError", ""), throttled, false},
			{"Quota", azcore(400, "PublicIPCountLimitReached", "Cannot create more than 10 public IP addresses"), quota, false},
			{"QuotaByText", azcore(409, "OperationNotAllowed", "Operation results in exceeding approved total cores quota"), quota, true},
			{"Invalid", azcore(400, "InvalidRequestFormat", "cannot parse the request"), invalid, false},
		},
		"googleapi": {
			{"Throttled", googleapi(403, "rateLimitExceeded", "Rate Limit Exceeded"), throttled, false},
			{"QuotaOfRequests", googleapi(403, "quotaExceeded", "Quota exceeded for quota group 'ReadGroup' and limit 'Read requests per 100 seconds'"), throttled, true},
			{"Bare429", googleapi(429, "", "Too many"), throttled, false},
			{"ThrottledAsText", swallowed(googleapi(429, "", "slow down")), throttled, true},
			{"Forbidden", googleapi(403, "forbidden", "Required 'compute.instances.get' permission"), denied, false},
			{"Unauthorized", googleapi(401, "authError", "Invalid Credentials"), denied, false},
			{"NotFound", googleapi(404, "notFound", "The resource was not found"), none, false},
			{"Unavailable", googleapi(503, "backendError", "try again"), unavailable, false},
			{"NotReady", googleapi(400, "resourceNotReady", "The resource is not ready"), conflict, false},
			{"InUse", googleapi(400, "resourceInUseByAnotherResource", "The resource is already being used"), conflict, false},
			{"ConditionNotMet", googleapi(412, "conditionNotMet", "Invalid fingerprint."), conflict, false},
			{"AlreadyExists", googleapi(409, "alreadyExists", "The resource already exists"), none, false},
			{"Quota", googleapi(403, "quotaExceeded", "Quota 'FORWARDING_RULES' exceeded. Limit: 15.0 globally."), quota, false},
			{"Invalid", googleapi(400, "invalid", "Invalid value for field"), invalid, false},
		},
		"oci": {
			{"Throttled", oracle{429, "TooManyRequests", "slow down"}, throttled, false},
			{"ThrottledAsText", swallowed(oracle{429, "TooManyRequests", "slow down"}), throttled, true},
			{"Denied", oracle{401, "NotAuthenticated", "The required information to complete authentication was not provided"}, denied, false},
			{"NotFoundOrDenied", oracle{404, "NotAuthorizedOrNotFound", "Authorization failed or requested resource not found"}, none, false},
			{"Unavailable", oracle{500, "InternalServerError", "down"}, unavailable, false},
			{"Conflict", oracle{409, "IncorrectState", "The load balancer is in the state UPDATING"}, conflict, false},
			{"Etag", oracle{412, "NoEtagMatch", "changed"}, conflict, false},
			{"Quota", oracle{400, "LimitExceeded", "The limit of load balancers"}, quota, false},
			{"QuotaOfACompartment", oracle{400, "QuotaExceeded", "The quota"}, quota, false},
			{"Invalid", oracle{400, "InvalidParameter", "bad"}, invalid, false},
		},
		"govmomi": {
			{"NotAuthenticated", vsphere{&NotAuthenticated{}, "The session is not authenticated."}, denied, false},
			{"NotAuthenticatedAsText", swallowed(vsphere{nil, "The session is not authenticated."}), denied, true},
			{"NoPermission", vsphere{NoPermission{}, "Permission to perform this operation was denied."}, denied, false},
			{"InvalidLogin", vsphere{&InvalidLogin{}, "Cannot complete login due to an incorrect user name or password."}, denied, false},
			{"InvalidLoginAsText", swallowed(vsphere{nil, "Cannot complete login due to an incorrect user name or password."}), denied, true},
			{"NotFound", vsphere{&ManagedObjectNotFound{}, "The object has already been deleted"}, none, false},
			{"TaskInProgress", vsphere{&TaskInProgress{}, "The operation cannot be allowed at the current time"}, conflict, false},
			{"HostCommunication", vsphere{&HostCommunication{}, "Unable to communicate with the remote host"}, unavailable, false},
			{"Invalid", vsphere{&InvalidArgument{}, "A specified parameter was not correct"}, invalid, false},
			{"Status", &url.Error{Op: "Post", URL: "https://vc.example.com/sdk", Err: errors.New("503 Service Unavailable")}, unavailable, true},
			{"StatusThrottled", &url.Error{Op: "Post", URL: "https://vc.example.com/sdk", Err: errors.New("429 Too Many Requests")}, throttled, true},
		},
		"kubernetes": { // the API server is the cloud of KubeVirt
			{"Throttled", apierrors.NewTooManyRequests("slow down", 7), throttled, false},
			{"Denied", apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "a", errors.New("no")), denied, false},
			{"NotFound", apierrors.NewNotFound(schema.GroupResource{Resource: "virtualmachines"}, "a"), none, false},
			{"Unavailable", apierrors.NewServiceUnavailable("down"), unavailable, false},
			{"Conflict", apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "a", errors.New("changed")), conflict, false},
			{"AlreadyExists", apierrors.NewAlreadyExists(schema.GroupResource{Resource: "services"}, "a"), none, false},
			{"Invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", nil), invalid, false},
		},
		"grpc": {
			{"Throttled", &remote{8}, throttled, false},
			{"Denied", &remote{7}, denied, false},
			{"Unauthenticated", &remote{16}, denied, false},
			{"NotFound", &remote{5}, none, false},
			{"Unavailable", &remote{14}, unavailable, false},
			{"Conflict", &remote{10}, conflict, false},
			{"ThrottledAsText", swallowed(&remote{8}), throttled, true},
		},
	} {
		for _, cell := range cells {
			t.Run(sdk+"/"+cell.name, func(t *testing.T) {
				for how, err := range map[string]error{
					"bare": cell.err, "wrapped": fmt.Errorf("get load balancer: %w", cell.err), "in an aggregate": utilerrors.NewAggregate([]error{cell.err}),
				} {
					if got := provider.Classify(err); got.Kind != cell.kind || got.FromText != cell.text && got.Kind != none {
						t.Errorf("%s: %q is %q (from text: %v), want %q (%v)", how, err, got.Kind, got.FromText, cell.kind, cell.text)
					}
				}
			})
		}
	}
}

// An error of a request does not always mean that the cloud cannot be reached.
func TestErrorsOfTheNetwork(t *testing.T) {
	request := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://api.example.com/v1", Err: err}
	}
	_, malformed := url.Parse("https://api.example.com:port") //nolint:staticcheck // it is malformed on purpose
	for _, tt := range []struct {
		name string
		err  error
		kind provider.ErrorKind
		text bool
	}{
		{"ConnectionRefused", request(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), provider.Unavailable, false},
		{"ConnectionRefusedAsText", errors.New("dial tcp 127.0.0.1:443: connect: connection refused"), provider.Unavailable, true},
		{"NoSuchHost", request(&net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}), provider.Unavailable, false},
		{"ConnectionIsCut", request(io.ErrUnexpectedEOF), provider.Unavailable, false},
		{"TimeOut", request(context.DeadlineExceeded), provider.Unavailable, false},
		{"EndOfAFileIsNoOutage", fmt.Errorf("read cloud-config: %w", io.EOF), provider.Unclassified, false},
		{"MissingFileIsNoOutage", &os.PathError{Op: "open", Path: "/etc/token", Err: syscall.ENOENT}, provider.Unclassified, false},
		{"UnknownAuthority", request(x509.UnknownAuthorityError{}), provider.Unclassified, false},
		{"WrongHost", request(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example.com"}), provider.Unclassified, false},
		{"ExpiredCertificate", request(x509.CertificateInvalidError{Reason: x509.Expired}), provider.Unclassified, false},
		{"CertificateIsRefusedByTheCloud", request(&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}), provider.Unclassified, false},
		{"MalformedAddress", malformed, provider.Unclassified, false},
		{"UnknownScheme", request(errors.New(`unsupported protocol scheme "htps"`)), provider.Unclassified, false},
		{"WrongToken", request(&retrieve{answer(400), "invalid_grant"}), provider.Denied, false},
		{"WrongTokenAsText", swallowed(&retrieve{answer(400), "invalid_grant"}), provider.Denied, true},
		{"WrongTokenInTheBody", errors.New("oauth2: cannot fetch token: 400 Bad Request\nResponse: {\"error\":\"invalid_grant\"}"), provider.Denied, true},
		{"TokenServerIsDown", request(&retrieve{answer(503), ""}), provider.Unavailable, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := provider.Classify(tt.err); got.Kind != tt.kind || got.FromText != tt.text {
				t.Errorf("%q is %q (from text: %v), want %q (%v)", tt.err, got.Kind, got.FromText, tt.kind, tt.text)
			}
		})
	}
}

// Names and values that users have chosen never decide the kind of an error.
func TestNamesAreNotTheCloudsWords(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   string
		names []string
		kind  provider.ErrorKind
	}{
		{"NameOfAService", "service throttle-proxy has a bad annotation", nil, provider.Unclassified},
		{"QuotedName", `service "rate limit exceeded" has a bad annotation`, nil, provider.Unclassified},
		{"QuotedTwice", `annotation "a": value "{\"status\":429}" is unknown`, nil, provider.Unclassified},
		{"QuotedCode", `annotation "code: throttled" or "RATE_LIMIT_EXCEEDED" is unknown`, nil, provider.Unclassified},
		{"CodeInQuotes", `autorest: StatusCode is odd: Code="TooManyRequests" Message="wait"`, nil, provider.Throttled},
		{"QuotedSingly", "annotation 'too many requests' is unknown", nil, provider.Unclassified},
		{"ApostropheIsNoQuote", "can't do it: too many requests, don't repeat", nil, provider.Throttled},
		{"GivenName", "service throttled has a bad annotation", []string{"default/throttled", "throttled"}, provider.Unclassified},
		{"GivenValue", "annotation x: HTTP 429 is unknown", []string{"HTTP 429"}, provider.Unclassified},
		{"GivenNameInAWord", "the calls are throttled", []string{"throttle"}, provider.Throttled},
		{"GivenNameBesideWords", "node too: too many requests", []string{"node", ""}, provider.Throttled},
		{"NumberInAnAddress", "get https://api.example.com/error/503: it has failed", nil, provider.Unclassified},
		{"NumberOfSomethingElse", "port 502 and 404 nodes", nil, provider.Unclassified},
		{"NotFoundIsNoKind", "404 Not Found", nil, provider.Unclassified},
		{"TextOfASentinel", "instance not found", nil, provider.Unclassified},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := provider.ClassifyAbout(errors.New(tt.err), tt.names...); got.Kind != tt.kind {
				t.Errorf("%q is %q, want %q", tt.err, got.Kind, tt.kind)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	const later = "Sun, 22 Nov 2026 12:02:00 GMT" // two minutes after the answer's date
	for _, tt := range []struct {
		name string
		err  error
		want time.Duration
	}{
		{"SecondsInAResponse", &digitalOcean{answer(429, "Retry-After", "7"), ""}, 7 * time.Second},
		{"DateOfTheAnswerCounts", &digitalOcean{answer(429, "Retry-After", later), ""}, 2 * time.Minute},
		{"Fractions", &digitalOcean{answer(429, "Retry-After", "1.5"), ""}, 1500 * time.Millisecond},
		{"WrappedResponse", hetzner{Code: "rate_limit_exceeded", response: &hetznerResponse{Response: answer(429, "Retry-After", "7")}}, 7 * time.Second},
		{"ResponseOfAMethod", amazon(503, "SlowDown", "", "Retry-After", "7"), 7 * time.Second},
		{"RawResponse", azcore(429, "TooManyRequests", "", "X-Ms-Retry-After-Ms", "1500"), 1500 * time.Millisecond},
		{"FieldHeader", googleapi(429, "", "", "Retry-After", "7"), 7 * time.Second},
		{"FieldResponseHeader", neutron(429, "", "Retry-After", "7"), 7 * time.Second},
		{"ResetAsANumberOfSeconds", &digitalOcean{answer(429, "RateLimit-Reset", "40"), ""}, 40 * time.Second},
		{"ResetAsATime", &linode{answer(429, "X-RateLimit-Reset", "1795348890"), 429, ""}, 90 * time.Second},
		{"ResetAsATimeInMilliseconds", &linode{answer(429, "X-RateLimit-Reset", "1795348890000"), 429, ""}, 90 * time.Second},
		{"RetryAfterIsBetterThanAReset", &digitalOcean{answer(429, "Retry-After", "7", "RateLimit-Reset", "3600"), ""}, 7 * time.Second},
		{"ResetStandsInEachAnswer", &digitalOcean{answer(503, "RateLimit-Reset", "3600"), ""}, 0},
		{"Unavailable", &digitalOcean{answer(503, "Retry-After", "7"), ""}, 7 * time.Second},
		{"Conflict", &digitalOcean{answer(409, "Retry-After", "7"), ""}, 7 * time.Second},
		{"DeniedDoesNotPassByWaiting", &digitalOcean{answer(401, "Retry-After", "7"), ""}, 0},
		{"APIServer", apierrors.NewTooManyRequests("slow down", 7), 7 * time.Second},
		{"Past", &digitalOcean{answer(429, "Retry-After", "Sun, 22 Nov 2026 11:00:00 GMT"), ""}, 0},
		{"Nonsense", &digitalOcean{answer(429, "Retry-After", "soon"), ""}, 0},
		{"NotANumber", &digitalOcean{answer(429, "Retry-After", "NaN"), ""}, 0},
		{"Negative", &digitalOcean{answer(429, "Retry-After", "-7"), ""}, 0},
		{"Overflow", &digitalOcean{answer(429, "Retry-After", "99999999999999999999"), ""}, 24 * time.Hour},
		{"Years", &digitalOcean{answer(429, "Retry-After", "999999999"), ""}, 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := provider.Classify(fmt.Errorf("a: %w", tt.err)); got.RetryAfter != tt.want {
				t.Errorf("RetryAfter = %v, want %v (%q)", got.RetryAfter, tt.want, got.Kind)
			}
		})
	}
}

// Without a date in the answer, the time to wait is computed with the clock of this
// machine.
func TestRetryAfterWithoutADateOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answer(429, "Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		a.Header.Del("Date")
		if got := provider.Classify(&digitalOcean{a, ""}).RetryAfter; got != time.Minute {
			t.Errorf("RetryAfter = %v, want a minute", got)
		}
	})
}

// Some errors are known, but have no kind.
func TestKnownErrorsOfNoKind(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want provider.Classification
	}{
		{"Status", neutron(404, "not there"), provider.Classification{Known: true}},
		{"Code", robot{"SERVER_NOT_FOUND", "no"}, provider.Classification{Known: true}},
		{"StatusInAText", errors.New("server responded with status code 404"), provider.Classification{Known: true, FromText: true}},
		{"Nothing", errors.New("it has failed"), provider.Classification{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := provider.Classify(tt.err); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// An error that panics when it is read is not classified.
func TestBrokenErrorsDoNotPanic(t *testing.T) {
	for name, err := range map[string]error{
		"TypedNil":          (*linode)(nil),
		"TypedNilOfAnswer":  (*amazonResponse)(nil),
		"PanicsInAccessors": &broken{},
		"WrapsItself":       &loop{},
		"WrapsItselfAlone":  &url.Error{Op: "Get", URL: "http://x", Err: &ring{}},
		"NilOnTheWay":       hollow{},
		"NilFields":         &digitalOcean{},
		"NilFault":          vsphere{nil, ""},
		"Nil":               nil,
	} {
		t.Run(name, func(t *testing.T) {
			if got := provider.Classify(err); got != (provider.Classification{}) {
				t.Errorf("%+v, want nothing", got)
			}
			if err != nil {
				provider.Classify(fmt.Errorf("a: %w", err))
			}
		})
	}
}

// A page that was cut off has many braces and quotes that are never closed.
// Such a brace or quote does not cause the remaining page to be read again.
func TestBrokenTextIsReadOnce(t *testing.T) {
	for name, piece := range map[string]string{"Objects": `{"a":`, "Braces": "{", "Quotes": `\"`, "Both": `{"a\"`} {
		t.Run(name, func(t *testing.T) {
			// Reading four times as much text allocates four times as much memory.
			// It would allocate sixteen times as much if each brace or quote caused
			// the remaining text to be read again.
			read := func(size int) (provider.Classification, uint64) {
				err := errors.New("load balancer limit reached: " + strings.Repeat(piece, size/len(piece)))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got := provider.Classify(err)
				runtime.ReadMemStats(&after)
				return got, after.TotalAlloc - before.TotalAlloc
			}
			_, quarter := read(4 << 10)
			got, whole := read(16 << 10)
			if whole > 9*quarter {
				t.Errorf("reading 4 KiB took %d bytes, reading 16 KiB %d", quarter, whole)
			}
			if got.Kind != provider.QuotaExceeded {
				t.Errorf("%+v, want what the words before say", got)
			}
		})
	}
}

// Any text is read without a panic. Its Classification has FromText set. Words
// in quotes have no effect.
func FuzzClassifyText(f *testing.F) {
	for _, seed := range []string{
		`{"error":"Rate-limit hit","status":429}`, "POST https://api.example.com: 401 (request 5f3a)", "limit (rate_limit_exceeded, 3f1b)",
		`oauth2: "invalid_grant" "x"`, "server responded with status code 502", `{"a":{"error":{"code":503}}}`, "'\"`", `"\`, "\xff\x00{", "",
	} {
		f.Add(seed, "name")
	}
	f.Fuzz(func(t *testing.T, said, name string) {
		got := provider.ClassifyAbout(errors.New(said), name)
		if got != (provider.Classification{}) && !got.FromText || got.RetryAfter != 0 {
			t.Errorf("%q is %+v", said, got)
		}
		if quoted := provider.Classify(fmt.Errorf("the name %q is unknown", said)); quoted.Kind != provider.Unclassified {
			t.Errorf("%q in quotes is %+v", said, quoted)
		}
	})
}

// An error about the client's own limit of retries is not an error about a
// quota of the account.
func TestRetriesAreNoQuota(t *testing.T) {
	for text, want := range map[string]provider.ErrorKind{
		"retry limit exceeded: dial tcp 10.0.0.1:443: connection refused": provider.Unavailable,
		"polling limit reached: load balancer is busy":                    provider.Conflict,
		"max retry limit reached":                                         provider.Unclassified,
		"limit of 5 load balancers reached":                               provider.QuotaExceeded,
	} {
		if got := provider.Classify(errors.New(text)).Kind; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// reasoned is an error whose field Reason has a sentence instead of a code.
type reasoned struct{ Reason string }

func (e *reasoned) Error() string { return e.Reason }

func TestSentenceIsNoCode(t *testing.T) {
	c := provider.ClassifyAbout(&reasoned{"throttle-proxy has an unknown annotation"}, "throttle-proxy")
	if c.Kind == provider.Throttled {
		t.Errorf("the name of a Service is read as a code: %+v", c)
	}
	if c := provider.Classify(&reasoned{"RequestLimitExceeded"}); c.Kind != provider.Throttled || c.FromText {
		t.Errorf("a code is not read: %+v", c)
	}
}

func TestLongerNameIsTakenOutFirst(t *testing.T) {
	if c := provider.ClassifyAbout(errors.New("annotation foo too many requests is unknown"), "foo", "foo too many requests"); c.Kind == provider.Throttled {
		t.Errorf("a value is read as words of the cloud: %+v", c)
	}
}

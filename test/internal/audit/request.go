// Package audit reads the audit log, in which the API server records every request.
// The end-to-end tests and the benchmark use it to check the requests of the
// daemons.
package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DaemonUser is the user name under which the daemons under test reach the API
// server.
const DaemonUser = "cloud-controller-manager"

// TestProgram is the name of the daemon with the providers of these tests. The daemon's
// user agent contains this name.
const TestProgram = "testccm"

// TestAgent is the program name in the user agent of the tests.
const TestAgent = "e2e"

// Request is a request that the API server has answered, as the audit log records it.
type Request struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	URI    string `json:"requestURI"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Body json.RawMessage `json:"requestObject"`
	Time time.Time       `json:"requestReceivedTimestamp"`
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s: %d %s", r.Verb, r.Resource(), r.Object.Name, r.Status.Code, r.Body)
}

// Resource returns the resource with its subresource, such as "nodes/status".
func (r Request) Resource() string {
	return strings.TrimSuffix(r.Object.Resource+"/"+r.Object.Subresource, "/")
}

// What returns the verb and the resource. If the request is not about a resource,
// it returns the verb and the path.
func (r Request) What() string {
	if r.Object.Resource == "" {
		path, _, _ := strings.Cut(r.URI, "?")
		return r.Verb + " " + path
	}
	return r.Verb + " " + r.Resource()
}

// Writes reports whether the request changes something. A request that asks for the
// daemon's own rights (V5) has the verb of a write, but changes nothing.
func (r Request) Writes() bool {
	return r.Object.Resource != "selfsubjectrulesreviews" && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Requests is a list of requests in the order in which the API server has answered them.
type Requests []Request

// Where returns each request r for which holds(r) is true.
func (all Requests) Where(holds func(Request) bool) Requests {
	var found Requests
	for _, r := range all {
		if holds(r) {
			found = append(found, r)
		}
	}
	return found
}

// OfDaemons returns the requests of the daemons under test.
func (all Requests) OfDaemons() Requests {
	return all.Where(func(r Request) bool { return r.User.Username == DaemonUser && r.UserAgent != TestAgent })
}

// OfUnknownUsers returns the requests that daemons have made as an unexpected
// user.
func (all Requests) OfUnknownUsers() Requests {
	return all.Where(func(r Request) bool {
		return r.ofOurProgram() && r.User.Username != DaemonUser && !r.ofController()
	})
}

// ofController reports whether a controller has made the request as its service
// account.
func (r Request) ofController() bool {
	name, ok := strings.CutPrefix(r.User.Username, Account(""))
	return ok && r.ofOurProgram() && slices.Contains(slices.Concat(ControllerAccounts, OptionalAccounts), name)
}

// ofOurProgram reports whether a daemon under test has made the request. The account does
// not show that, because kube-controller-manager uses some of the same accounts.
func (r Request) ofOurProgram() bool {
	program, _, _ := strings.Cut(r.UserAgent, "/")
	return program == DaemonUser || program == TestProgram
}

// OfNode returns the requests about one Node.
func (all Requests) OfNode(node string) Requests {
	return all.Where(func(r Request) bool { return r.Object.Resource == "nodes" && r.Object.Name == node })
}

// Writes returns the requests that change something.
func (all Requests) Writes() Requests { return all.Where(Request.Writes) }

// OutsideEnvelope describes each request for which the daemon had no right, and each
// request that the daemon must not make although it has the right (C1). An API server
// that has just started refuses requests because it does not know the rights yet. So a
// refused request is not reported if may says that the API server would now allow it.
func (all Requests) OutsideEnvelope(may func(Request) bool) []string {
	var problems []string
	for _, r := range all {
		var why string
		switch {
		case r.IsForbidden() && !may(r):
			why = "the daemon has no right to make this request"
		case r.Object.Resource == "nodes" && r.Verb == "update":
			why = "a whole Node was written"
		case r.Object.Resource == "services" && r.Verb == "get":
			why = "a Service was read"
		case r.Object.Resource == "leases" && r.Verb == "patch":
			why = "a Lease was patched"
		default:
			continue
		}
		problems = append(problems, why+": "+r.String())
	}
	return problems
}

// IsForbidden reports whether the daemon had no right to make the request.
func (r Request) IsForbidden() bool { return r.Status.Code == http.StatusForbidden }

// Lines returns a line for each request, for comparison.
func (all Requests) Lines() []string {
	var lines []string
	for _, r := range all {
		lines = append(lines, r.What())
	}
	return lines
}

// ControllerAccounts are the service accounts of the controllers that are on by
// default. Every API server has roles for them.
var ControllerAccounts = []string{"node-controller", "service-controller", "route-controller"}

// OptionalAccounts are the service accounts of the controllers that are off by
// default. The chart has roles for them.
var OptionalAccounts = []string{"persistent-volume-label-controller", "kubelet-serving-csr-controller"}

// Account returns the user name of a controller's service account.
func Account(name string) string { return "system:serviceaccount:kube-system:" + name }

// OfControllers returns the requests that controllers have made as their service
// accounts.
func (all Requests) OfControllers() Requests {
	return all.Where(Request.ofController)
}

// OfProgram returns the requests of the daemon that runs under this name.
func (all Requests) OfProgram(name string) Requests {
	return all.Where(func(r Request) bool {
		program, _, _ := strings.Cut(r.UserAgent, "/")
		return program == name
	})
}

// Done returns the requests that were answered with 200.
func (all Requests) Done() Requests {
	return all.Where(func(r Request) bool { return r.Status.Code == http.StatusOK })
}

// Forbidden returns the requests for which the daemon had no right.
func (all Requests) Forbidden() Requests {
	return all.Where(Request.IsForbidden)
}

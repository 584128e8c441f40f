package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ccmUser is who the daemons under test are to the API server.
const ccmUser = "cloud-controller-manager"

// testAgent is what the tests call themselves.
const testAgent = "e2e"

// request is one that the API server has answered, as it wrote it down.
type request struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Body json.RawMessage `json:"requestObject"`
	Time time.Time       `json:"requestReceivedTimestamp"`
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %s: %d %s", r.Verb, r.resource(), r.Object.Name, r.Status.Code, r.Body)
}

func (r request) resource() string {
	return strings.TrimSuffix(r.Object.Resource+"/"+r.Object.Subresource, "/")
}

// needs is the right that it needs. Some are given by name.
func (r request) needs() string {
	switch r.Object.Resource {
	case "leases", "serviceaccounts":
		return r.Verb + " " + r.resource() + " " + r.Object.Name
	}
	return r.Verb + " " + r.resource()
}

func (r request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

type requests []request

func (all requests) where(holds func(request) bool) requests {
	var found requests
	for _, r := range all {
		if holds(r) {
			found = append(found, r)
		}
	}
	return found
}

// ours are those of the daemons under test.
func (all requests) ours() requests {
	return all.where(func(r request) bool { return r.User.Username == ccmUser && r.UserAgent != testAgent })
}

// ofStrangers are those of daemons that have come to another user's rights.
func (all requests) ofStrangers() requests {
	return all.where(func(r request) bool {
		program, _, _ := strings.Cut(r.UserAgent, "/")
		return (program == ccmUser || program == filepath.Base(testCCM)) && r.User.Username != ccmUser && !r.ofController()
	})
}

// ofController says whether a controller made it as its service account.
func (r request) ofController() bool {
	name, ok := strings.CutPrefix(r.User.Username, "system:serviceaccount:kube-system:")
	return ok && slices.Contains(controllerAccounts, name)
}

// of are those about one Node.
func (all requests) of(node string) requests {
	return all.where(func(r request) bool { return r.Object.Resource == "nodes" && r.Object.Name == node })
}

func (all requests) writes() requests { return all.where(request.writes) }

// rights are those that the daemon was seen to have. A list that is refused is
// excused by the watch that came in its place.
func (all requests) rights() map[string]bool {
	rights := map[string]bool{}
	for _, r := range all {
		if r.Status.Code < http.StatusBadRequest {
			rights[r.needs()] = true
			rights[strings.Replace(r.needs(), "watch", "list", 1)] = true
		}
	}
	return rights
}

// outsideEnvelope says what the daemon may not do whatever its rights (C1), and
// what it has no right to. An API server that has just started knows nobody's
// rights, so what was allowed at another time is not told.
func (all requests) outsideEnvelope(rights map[string]bool) []string {
	var problems []string
	for _, r := range all {
		var why string
		switch {
		case r.isForbidden() && !rights[r.needs()]:
			why = "the daemon tries what it has no right to"
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

func (r request) isForbidden() bool { return r.Status.Code == http.StatusForbidden }

// lines are what was done, for comparison.
func (all requests) lines() []string {
	var lines []string
	for _, r := range all {
		lines = append(lines, r.Verb+" "+r.resource())
	}
	return lines
}

// auditLog is what the API server writes down.
type auditLog struct {
	t    *testing.T
	file string
}

func (b *bed) audit(t *testing.T) auditLog { return auditLog{t, b.cluster.AuditLog} }

// mark is the end of the log. Whoever has got the answer to a request finds
// the request before it.
func (a auditLog) mark() int64 {
	a.t.Helper()
	info, err := os.Stat(a.file)
	if err != nil {
		a.t.Fatal(err)
	}
	return info.Size()
}

// since are the requests that were written down after the mark.
func (a auditLog) since(mark int64) requests {
	a.t.Helper()
	file, err := os.Open(a.file)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	// The mark may be within a line, which began before it.
	if _, err := file.Seek(max(mark-1, 0), io.SeekStart); err != nil {
		a.t.Fatal(err)
	}
	reader := bufio.NewReader(file)
	if mark > 0 {
		_, _ = reader.ReadBytes('\n') // If there is no end yet, the next read says so.
	}
	var all requests
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil { // The last line may be half written.
			return all
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			a.t.Fatalf("audit log: %v: %s", err, line)
		}
		all = append(all, r)
	}
}

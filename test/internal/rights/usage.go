package rights

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

// Usage records, for each right, the tests in which the daemon has used the right.
type Usage struct {
	mu    sync.Mutex
	tests map[Right][]string // guarded by mu
}

// Record adds the requests of a test.
func (u *Usage) Record(test string, all audit.Requests) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tests == nil {
		u.tests = map[Right][]string{}
	}
	for _, q := range all {
		r := Right{verb: q.Verb, group: q.Object.Group, resource: q.Object.Resource, subresource: q.Object.Subresource}
		if q.Status.Code < http.StatusBadRequest && !slices.Contains(u.tests[r], test) {
			u.tests[r] = append(u.tests[r], test)
		}
	}
}

// String returns a line for each right. The line has the number of tests that use
// the right, and the names of up to three of these tests.
func (u *Usage) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var lines []string
	for r, tests := range u.tests {
		slices.Sort(tests)
		lines = append(lines, fmt.Sprintf("e2e: the right to %s is used in %d tests: %s\n", r, len(tests), strings.Join(tests[:min(len(tests), 3)], ", ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

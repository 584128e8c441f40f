// Package doctor searches a cluster for faults of its cloud-controller-manager.
//
// The checks are a table of pure functions in rules_*.go, which look at a cluster.View.
// Each check has a permanent ID and returns findings. Run collects them in a report. The
// package writes nothing to the cluster, and sends no requests to kubelets.
package doctor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	Error   Level = "error"   // something does not work, or will harm
	Warning Level = "warning" // something might not work, or might harm
)

// Categories returns the groups of checks, in the order of the report.
func Categories() []string {
	return []string{"control-plane", "nodes", "daemon", "rights", "cloud", "services"}
}

// Check is one check.
type Check struct {
	// ID is permanent: FL and three digits. The first digit is that of the category.
	ID    string
	Level Level
	// Title is the problem, and Why is its consequence, or what the check looks at. Both
	// are for the reference page.
	Title, Why string
	// Fix is a command. {kind}, {namespace} and {name} are replaced by those of the
	// object.
	Fix string
	// FixOf has commands that replace Fix for some kinds of objects. The key is the
	// kind of the finding's object, or "" for a finding about the whole cluster.
	FixOf map[string]string
	Needs []cluster.Source

	find func(*cluster.View) []Finding
	// cannot returns the reason why the check has nothing to look at, or "" if it
	// has something. A check without this function always has something to look
	// at.
	cannot func(*cluster.View) string
}

// managers has the sources in which the checks find cloud-controller-managers.
var managers = []cluster.Source{cluster.Leases, cluster.Deployments, cluster.DaemonSets, cluster.StatefulSets, cluster.Pods}

// andManagers returns the sources and those in which the managers are found.
func andManagers(needs ...cluster.Source) []cluster.Source { return append(needs, managers...) }

// Finding is a problem that a check has found.
type Finding struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Level    Level  `json:"level"`
	// Object is kind/name or kind/namespace/name; empty means the whole cluster.
	Object   string   `json:"object,omitempty"`
	Message  string   `json:"message"`
	Evidence []string `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	Docs     string   `json:"docs"`
	// others has the names of all Nodes that the finding is about, if there are
	// several.
	others []string
}

// Checks returns all checks, in the order of their IDs.
func Checks() []Check {
	return slices.Concat(controlPlaneChecks(), nodeChecks(), daemonChecks(), rightsChecks(), cloudChecks(), serviceChecks())
}

// Category returns the category of the check.
func (c Check) Category() string { return Categories()[c.ID[len("FL")]-'1'] }

// Docs returns the place where the reference page describes the check.
func (c Check) Docs() string { return "docs/reference/doctor.md#" + strings.ToLower(c.ID) }

// The range of Kubernetes minors with which this release is tested; see
// docs/reference/skew.md.
const (
	newestMinor = 37
	oldestMinor = 35
)

// TestedMinors returns the oldest and the newest minor version of Kubernetes with
// which this release is tested.
func TestedMinors() (oldest, newest int) { return oldestMinor, newestMinor }

// plain matches the names that objects can have. Any other name comes from an event,
// and anybody might be the author of the event. So that name must not be part of a
// command that people paste.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_-]*(/[A-Za-z0-9][A-Za-z0-9.:_-]*){0,2}$`)

// fixFor returns the command for an object.
func (c Check) fixFor(object string) string {
	fix := c.Fix
	if other, ok := c.FixOf[strings.Split(object, "/")[0]]; ok {
		fix = other
	}
	if !plain.MatchString(object) {
		object = "KIND/NAME"
	}
	parts := strings.Split(object, "/")
	namespace := "NAMESPACE"
	if len(parts) == 3 {
		namespace = parts[1]
	}
	return strings.NewReplacer("{kind}", parts[0], "{namespace}", namespace, "{name}", parts[len(parts)-1]).Replace(fix)
}

package doctor

import (
	"regexp"
	"slices"
	"strings"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	Error   Level = "error"   // something does not work, or will harm
	Warning Level = "warning" // something might not work, or might harm
)

// Category is a group of checks.
type Category string

// The categories, in the order of the report.
const (
	ControlPlane Category = "control-plane"
	OfNodes      Category = "nodes"
	Daemon       Category = "daemon"
	Rights       Category = "rights"
	Cloud        Category = "cloud"
	OfServices   Category = "services"
)

// Categories returns all categories, in the order of the report.
func Categories() []Category {
	return []Category{ControlPlane, OfNodes, Daemon, Rights, Cloud, OfServices}
}

// Check is one check.
type Check struct {
	ID       string // permanent
	Category Category
	Level    Level
	Title    string // the problem, for the heading of the reference page
	Why      string // the consequence of the problem
	Looks    string // the data that the check looks at
	// Fix is a command. {kind}, {namespace} and {name} are replaced by those of
	// the object.
	Fix string
	// FixOf has commands that replace Fix for some kinds of objects. The key is the
	// kind of the finding's object, or "" for a finding about the whole cluster.
	FixOf map[string]string
	Needs []Source

	find func(*View) []Finding
	// cannot returns the reason why the check has nothing to look at, or "" if it
	// has something. A check without this function always has something to look
	// at.
	cannot func(*View) string
}

// Finding is a problem that a check has found.
type Finding struct {
	ID       string   `json:"id"`
	Category Category `json:"category"`
	Level    Level    `json:"level"`
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

// Docs returns the place where the reference page describes the check.
func (c Check) Docs() string { return "docs/reference/doctor.md#" + strings.ToLower(c.ID) }

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
		object = ""
	}
	parts := strings.Split(object, "/")
	kind, namespace, name := parts[0], "NAMESPACE", parts[len(parts)-1]
	if len(parts) == 3 {
		namespace = parts[1]
	}
	if object == "" {
		kind, name = "KIND", "NAME"
	}
	return strings.NewReplacer("{kind}", kind, "{namespace}", namespace, "{name}", name).Replace(fix)
}

// TestedMinors returns the oldest and the newest minor version of Kubernetes with
// which this release is tested.
func TestedMinors() (oldest, newest int) { return oldestMinor, newestMinor }

package main

import (
	"regexp"
	"runtime/debug"
	"strings"

	kubernetes "k8s.io/component-base/version"
)

// published matches a version that can be fetched: a release or a commit. The
// version of a changed checkout ends with +dirty and does not match.
var published = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// version is the version of this program.
type version struct {
	// text is printed for people.
	text string
	// module is the version that a new project's go.mod can require; empty if this
	// program was built from a checkout.
	module string
}

// ownVersion returns the version that go install has recorded in this program. If
// there is none, it returns the one that make has recorded.
func ownVersion() version {
	if info, ok := debug.ReadBuildInfo(); ok && published.MatchString(info.Main.Version) {
		return version{text: info.Main.Version, module: info.Main.Version}
	}
	_, ours, ok := strings.Cut(kubernetes.Get().GitVersion, "+fairlead.")
	if !ok {
		ours = "of a checkout"
	}
	return version{text: ours}
}

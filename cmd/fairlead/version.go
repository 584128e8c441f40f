package main

import (
	"regexp"
	"runtime/debug"
	"strings"

	kubernetes "k8s.io/component-base/version"
)

// published is a version that can be fetched: a release or a commit. That of a
// changed checkout ends with +dirty.
var published = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// version is this program's.
type version struct {
	// text is for people.
	text string
	// module is what go.mod of a new project can require; empty if this program
	// was built from a checkout.
	module string
}

// ownVersion is what go install has noted; without that, what make has.
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

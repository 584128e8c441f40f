package versions

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// published matches the version of a release or of a commit, which Go can fetch.
// The version of a changed checkout ends with +dirty, so it does not match.
var published = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// unset is the prefix of the version of the Kubernetes libraries if the linker has not set
// that version.
const unset = "v0.0.0-master+"

// Version is the version of a program.
type Version struct {
	// Text is for people. It is never empty.
	Text string
	// Module is the version with which Go can fetch the program. It is empty if Go
	// cannot fetch the program, for example because it was built from a checkout.
	Module string
	// Libraries is the version of the Kubernetes libraries.
	Libraries string
}

// Own returns the version of this program. The argument is the version that the
// Kubernetes libraries report. If make has built the program, the argument also
// contains our own version.
func Own(libraries string) Version {
	info, _ := debug.ReadBuildInfo()
	return own(info, libraries)
}

// own prefers the version that "go install" has recorded. The second choice is the
// version from "make", and the third is the version from "go build".
func own(info *debug.BuildInfo, libraries string) Version {
	v := Version{Text: "unversioned", Libraries: libraries}
	if info == nil {
		return v
	}
	main := info.Main.Version
	_, ours, stamped := strings.Cut(libraries, "+fairlead.")
	if stamped {
		v.Text = ours
	}
	switch {
	case published.MatchString(main):
		v.Text, v.Module = main, main
	case !stamped && main != "" && main != "(devel)":
		v.Text = main
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/component-base" && strings.HasPrefix(libraries, unset) {
			v.Libraries = inUse(m).Version
		}
	}
	return v
}

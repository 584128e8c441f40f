// Package versions has the version of the program, and finds modules of
// Kubernetes that are older than the other ones in the binary.
//
// Kubernetes releases its modules together with one version, such as v0.37.2. They
// work only with modules of the same release. If a provider requires older modules
// than Fairlead, Go takes Fairlead's versions. But a module that only the provider
// requires stays old. It might then panic before main runs, for example because
// two modules declare one feature gate in two ways. So this package writes a
// warning to standard error when it is initialised. It imports only the standard
// library, so that Go initialises it before any package of Kubernetes.
//
// cmd/fairlead, cmd/simcloud, internal/linkcheck, and internal/daemon with its settings
// import this package.
package versions

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// Behind is a module of Kubernetes that is older than the others.
type Behind struct {
	Module, Version string
	Needed          string // the version that matches the newest of the others
}

// String returns a warning with the command that updates the module.
func (b Behind) String() string {
	return fmt.Sprintf("%s is at %s while other modules of Kubernetes are at %s, and may not work: go get %s@%s", b.Module, b.Version, b.Needed, b.Module, b.Needed)
}

//nolint:gochecknoinits // the reported problem might end the process before main
func init() {
	for _, b := range Linked() {
		fmt.Fprintln(os.Stderr, "Warning:", b)
	}
}

// Linked returns the modules of this binary that are too old.
func Linked() []Behind {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return Among(info.Deps)
}

// Among returns those of the modules that are too old, in the given order.
func Among(modules []*debug.Module) []Behind {
	newest, needed := 0, ""
	for _, m := range modules {
		if minor := minorOf(m); minor > newest {
			newest, needed = minor, inUse(m).Version
		}
	}
	var all []Behind
	for _, m := range modules {
		if minor := minorOf(m); minor != 0 && minor < newest {
			b := Behind{Module: m.Path, Version: inUse(m).Version, Needed: needed}
			if m.Path == kubernetes {
				b.Needed = "v1" + strings.TrimPrefix(needed, "v0")
			}
			all = append(all, b)
		}
	}
	return all
}

// kubernetes is the module of Kubernetes itself. Its version v1.37.2 matches
// v0.37.2 of the other modules.
const kubernetes = "k8s.io/kubernetes"

// firstMinor is the first release whose modules had versions of their own. What has a
// lower number, such as klog v0.1.0, does not belong to a release.
const firstMinor = 15

// minorOf returns the minor version of the Kubernetes release to which a module
// belongs. It returns 0 if the module does not belong to Kubernetes, if a folder
// replaces it, or if its version is not a release.
func minorOf(m *debug.Module) int {
	name, ok := strings.CutPrefix(m.Path, "k8s.io/")
	if !ok || strings.Contains(name, "/") {
		return 0
	}
	major := "v0."
	if m.Path == kubernetes {
		major = "v1."
	}
	rest, ok := strings.CutPrefix(inUse(m).Version, major)
	if !ok {
		return 0
	}
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	if err != nil || minor < firstMinor {
		return 0
	}
	return minor
}

// inUse returns the module that replaces m, or m if there is no replacement.
func inUse(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

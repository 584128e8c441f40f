package linkcheck

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// Level says how bad a finding is.
type Level string

const (
	// Error is the level of a line with which Fairlead cannot be linked.
	Error Level = "error"
	// Warning is the level of a line that go.mod alone cannot judge.
	Warning Level = "warning"
)

// Finding is a line of go.mod to change.
type Finding struct {
	Level Level  `json:"level"`
	Line  int    `json:"line"`
	Text  string `json:"text"`
	Why   string `json:"why"`
	// Do is the command that changes the line.
	Do string `json:"do"`
}

const (
	contract   = "k8s.io/cloud-provider"
	kubernetes = "k8s.io/kubernetes"
	// legacy has the providers that were part of Kubernetes. It ended with 1.30.
	legacy     = "k8s.io/legacy-cloud-providers"
	whyDropped = "The last release is that of Kubernetes 1.30"
)

// project is a go.mod, with what its rules compare it with.
type project struct {
	// needed has the versions of the modules in Fairlead's graph.
	needed map[string]string
	// required has the versions that the project requires.
	required map[string]string
	// behind has the modules of older releases of Kubernetes, with the version that
	// matches Fairlead's release.
	behind map[string]string
}

// check returns the lines to change, in the order of the file.
func check(mod *modfile.File, needed map[string]string) []Finding {
	p := project{needed: needed, required: map[string]string{}, behind: map[string]string{}}
	used := []*debug.Module{{Path: contract, Version: needed[contract]}}
	for _, r := range mod.Require {
		p.required[r.Mod.Path] = r.Mod.Version
		if needed[r.Mod.Path] == "" { // Go raises the others.
			used = append(used, &debug.Module{Path: r.Mod.Path, Version: r.Mod.Version})
		}
	}
	replaced := map[string]bool{}
	for _, r := range mod.Replace {
		replaced[r.Old.Path] = true
		used = append(used, &debug.Module{Path: r.Old.Path, Replace: &debug.Module{Path: r.New.Path, Version: r.New.Version}})
	}
	for _, b := range versions.Among(used) {
		p.behind[b.Module] = b.Needed
	}
	findings := []Finding{}
	for _, r := range mod.Replace {
		if f := p.replacement(r); f.Level != "" {
			f.Line, f.Text = r.Syntax.Start.Line, lineOf(r)
			findings = append(findings, f)
		}
	}
	for _, r := range mod.Require {
		if f := p.requirement(r); f.Level != "" && !replaced[r.Mod.Path] {
			f.Line, f.Text = r.Syntax.Start.Line, "require "+r.Mod.Path+" "+r.Mod.Version
			findings = append(findings, f)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return findings
}

// replacement judges a replace line. Without a finding it returns the zero value.
func (p project) replacement(r *modfile.Replace) Finding {
	path, needed := r.Old.Path, p.needed[r.Old.Path]
	fork := r.New.Path != path
	switch {
	case r.Old.Version != "" && semver.Compare(r.Old.Version, needed) < 0:
		return Finding{} // Go selects a newer version, which the line does not replace.
	case fork && path == contract:
		return Finding{Level: Error, Do: p.without(r), Why: "A fork of the skeleton. Fairlead takes the place of the skeleton, and needs the contract " + needed + " as it is"}
	case path == legacy:
		return Finding{Level: Error, Do: "go mod edit -dropreplace=" + r.Old.String(), Why: whyDropped}
	case p.behind[path] != "":
		return Finding{Level: Error, Do: p.without(r), Why: "Modules of Kubernetes work with the same release only, here " + p.behind[path]}
	case needed == "":
		return Finding{}
	case fork:
		return Finding{Level: Warning, Do: p.without(r), Why: "Another module takes its place. It has to have what " + needed + " has, which Fairlead needs"}
	case semver.Compare(r.New.Version, needed) < 0:
		return Finding{Level: Error, Do: p.without(r), Why: "Older than " + needed + ", which Fairlead needs"}
	}
	return Finding{}
}

// without returns the command that ends a replacement. A module gets a newer
// replacement instead if Go could not select the right version without one: the
// modules that k8s.io/kubernetes requires as v0.0.0, and those of which an old release
// has a higher number, such as v12.0.0+incompatible of client-go.
func (p project) without(r *modfile.Replace) string {
	path := r.Old.Path
	set := cmp.Or(p.behind[path], p.needed[path])
	_, whole := p.required[kubernetes]
	ofKubernetes := path == kubernetes || set == p.needed[contract]
	if whole && ofKubernetes || higher(p.required[path], set) {
		return fmt.Sprintf("go mod edit -replace=%s=%s@%s", path, path, set)
	}
	return "go mod edit -dropreplace=" + r.Old.String()
}

// requirement judges a require line of a module that no line replaces. Without a
// finding it returns the zero value.
func (p project) requirement(r *modfile.Require) Finding {
	path, needed := r.Mod.Path, p.needed[r.Mod.Path]
	switch {
	case higher(r.Mod.Version, needed):
		return Finding{Level: Error, Do: "go mod edit -require=" + path + "@" + needed, Why: "An old release with a higher number than " + needed + ", which Fairlead needs, so Go keeps it"}
	case path == legacy:
		return Finding{Level: Error, Do: "go mod edit -droprequire=" + path, Why: whyDropped}
	case p.behind[path] != "":
		return Finding{Level: Error, Do: "go get " + path + "@" + p.behind[path], Why: fmt.Sprintf("Modules of Kubernetes work with the same release only, here %s, and Go does not raise this one", p.behind[path])}
	}
	return Finding{}
}

// higher reports whether a release from before Go modules has a higher number than the
// version.
func higher(old, version string) bool {
	return semver.Build(old) == "+incompatible" && version != "" && semver.Build(version) == "" && semver.Compare(old, version) > 0
}

// lineOf returns a replace line as it stands outside of a block.
func lineOf(r *modfile.Replace) string {
	text := "replace " + r.Old.Path
	if r.Old.Version != "" {
		text += " " + r.Old.Version
	}
	text += " => " + r.New.Path
	if r.New.Version != "" {
		text += " " + r.New.Version
	}
	return text
}

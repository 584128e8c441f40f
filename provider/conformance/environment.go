package conformance

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"

	cloudprovider "k8s.io/cloud-provider"
)

// modulePath is the module of the suite.
const modulePath = "github.com/fairlead-k8s/fairlead"

// moduleOf returns a module in this binary. The path is that of the module or of a
// package in it. For the main module, moduleOf also returns the commit.
func moduleOf(path string) (m debug.Module, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m, ""
	}
	for _, candidate := range append(info.Deps, &info.Main) {
		if (path == candidate.Path || strings.HasPrefix(path, candidate.Path+"/")) && len(candidate.Path) > len(m.Path) {
			m = *candidate
		}
	}
	if m.Path != info.Main.Path {
		return m, ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	return m, revision
}

func suiteOfThisBinary() Suite {
	m, _ := moduleOf(modulePath)
	return Suite{Module: modulePath, Version: m.Version, Checks: len(Checks())}
}

func environment(live bool) Environment {
	contract, _ := moduleOf("k8s.io/cloud-provider")
	return Environment{
		Live: live, Race: race, CloudProviderVersion: contract.Version,
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
	}
}

// identify records the module that contains the provider.
func (s *suite) identify(made cloudprovider.Interface) {
	t := reflect.TypeOf(made)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	m, revision := moduleOf(t.PkgPath())
	s.about.Module, s.about.Version, s.about.Revision = m.Path, m.Version, revision
}

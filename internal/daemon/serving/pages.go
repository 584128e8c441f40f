package serving

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/statusz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	kubernetes "k8s.io/component-base/version"
	zpagesfeatures "k8s.io/component-base/zpages/features"
)

// Component has the values of the process that /flagz and /statusz show.
type Component struct {
	Name string
	// Version of the program. If it is empty or not a version number, the version of
	// the Kubernetes libraries is shown.
	Version string
	// Flags returns the values of all flags, without secrets.
	Flags func() map[string]string
}

// install adds /flagz and /statusz as in the components of Kubernetes, unless their
// feature gates are off. It must be called after all other paths were added to m,
// because /statusz lists them.
func (c Component) install(m *mux.PathRecorderMux) {
	if utilfeature.DefaultFeatureGate.Enabled(zpagesfeatures.ComponentFlagz) {
		flagz.Install(m, c.Name, flags(c.Flags))
	}
	if utilfeature.DefaultFeatureGate.Enabled(zpagesfeatures.ComponentStatusz) {
		statusz.Install(m, c.Name, statusz.NewRegistry(effective{binary: c.version()}, statusz.WithListedPaths(m.ListedPaths())))
	}
}

func (c Component) version() *version.Version {
	if v, err := version.Parse(c.Version); err == nil {
		return v
	}
	return version.MustParse(kubernetes.Get().String()) // The library shows this version if it gets none.
}

// flags implements flagz.Reader.
type flags func() map[string]string

// GetFlagz implements flagz.Reader.
func (f flags) GetFlagz() map[string]string { return f() }

// effective gives /statusz the version of the program. A cloud-controller-manager
// emulates no version of Kubernetes.
type effective struct {
	compatibility.EffectiveVersion // /statusz calls only the two methods below

	binary *version.Version
}

// BinaryVersion implements compatibility.EffectiveVersion.
func (e effective) BinaryVersion() *version.Version { return e.binary }

// EmulationVersion implements compatibility.EffectiveVersion.
func (effective) EmulationVersion() *version.Version { return nil }

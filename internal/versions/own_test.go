package versions

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOwn(t *testing.T) {
	const plain, stamped = "v0.0.0-master+$Format:%H$", "v1.37.1+fairlead.v0.2.0-3-g26336e1"
	for _, tc := range []struct {
		name, main, libraries, modules string
		want                           Version
	}{
		{"Installed", "v0.2.0", plain, "k8s.io/component-base@v0.37.1", Version{"v0.2.0", "v0.2.0", "v0.37.1"}},
		{"Made", "(devel)", stamped, "k8s.io/component-base@v0.37.1", Version{"v0.2.0-3-g26336e1", "", stamped}},
		{"MadeInAChangedCheckout", "v0.2.1-0.20261122000000-26336e1abcde+dirty", stamped, "", Version{"v0.2.0-3-g26336e1", "", stamped}},
		{"Built", "v0.2.1-0.20261122000000-26336e1abcde+dirty", plain, "k8s.io/component-base@v0.37.1", Version{"v0.2.1-0.20261122000000-26336e1abcde+dirty", "", "v0.37.1"}},
		{"BuiltWithoutARepository", "(devel)", plain, "k8s.io/component-base@v0.37.0=>v0.37.1", Version{"unversioned", "", "v0.37.1"}},
		{"WithoutLibraries", "", plain, "", Version{"unversioned", "", plain}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: tc.main}, Deps: modules(tc.modules)}
			if diff := cmp.Diff(tc.want, own(info, tc.libraries)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := own(nil, plain).Text; got != "unversioned" {
		t.Errorf("without build info: %q", got)
	}
}

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The companion only looks at a cluster. It links neither the daemon nor the API server's
// library. It links no package that looks up methods by any name either, because then the
// linker would keep all methods of the clients: 26 MB.
func TestWhatIsLinked(t *testing.T) {
	const module = "github.com/fairlead-k8s/fairlead/"
	const controllers = module + "internal/controller/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"internal/doctor") {
		t.Errorf("the doctor is missing in %q", linked)
	}
	leaves := []string{"mark", "message", "nodefact", "ownership", "requestfact", "step", "volumefact"}
	for _, path := range linked {
		for _, refused := range []string{"testing", "k8s.io/apiserver", module + "internal/daemon", module + "internal/cloud", module + "internal/kube", module + "provider/conformance"} {
			if path == refused || strings.HasPrefix(path, refused+"/") {
				t.Errorf("%s is linked", path)
			}
		}
		if name, is := strings.CutPrefix(path, controllers); is && !slices.Contains(leaves, name) {
			t.Errorf("%s is linked", path)
		}
	}
}

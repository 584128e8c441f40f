package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The daemon links only what a cluster runs.
func TestWhatIsLinked(t *testing.T) {
	const module = "github.com/fairlead-k8s/fairlead/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"internal/controller/node") {
		t.Errorf("a controller is missing in %q", linked)
	}
	for _, path := range linked {
		for _, refused := range []string{"testing", module + "provider/conformance"} {
			if path == refused || strings.HasPrefix(path, refused+"/") {
				t.Errorf("%s is linked", path)
			}
		}
	}
}

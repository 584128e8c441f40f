package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsLinked checks what each program links: the daemon only what a cluster runs, and
// the companion neither the daemon nor the API server's library. The companion links no
// package that looks up methods by any name either, because then the linker would keep all
// methods of the clients: 26 MB.
func TestWhatIsLinked(t *testing.T) {
	const module = "github.com/fairlead-k8s/fairlead/"
	forTests := []string{"testing", module + "provider/conformance"}
	forOperators := []string{module + "internal/doctor", module + "internal/explain", module + "internal/inspect"}
	theDaemon := []string{"k8s.io/apiserver", module + "internal/daemon", module + "internal/cloud", module + "internal/kube", module + "internal/controller"}
	for at, row := range map[string]struct {
		links   string
		refused []string
		leaves  []string // packages within those refused that may be linked
	}{
		".":         {links: "internal/controller/node", refused: forOperators},
		"../../ccm": {links: "internal/controller/node", refused: append(forOperators, module+"simulator", module+"providers")},
		"../fairlead": {
			links: "internal/doctor", refused: theDaemon,
			leaves: []string{"mark", "message", "nodefact", "ownership", "requestfact", "step", "volumefact"},
		},
	} {
		t.Run(at, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", at).Output()
			if err != nil {
				t.Fatal(err)
			}
			linked := strings.Fields(string(out))
			if !slices.Contains(linked, module+row.links) {
				t.Errorf("%s is missing in %q", row.links, linked)
			}
			for _, p := range linked {
				isLeaf := slices.Contains(row.leaves, strings.TrimPrefix(p, module+"internal/controller/"))
				for _, refused := range append(row.refused, forTests...) {
					if !isLeaf && (p == refused || strings.HasPrefix(p, refused+"/")) {
						t.Errorf("%s is linked", p)
					}
				}
			}
		})
	}
}

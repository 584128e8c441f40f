package docs

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

var generate = flag.Bool("generate", false, "write the pages that are made from code")

// TestReference checks that the generated pages agree with the code. With
// -generate it writes them.
func TestReference(t *testing.T) {
	reasons, err := json.MarshalIndent(daemon.AllReasons(), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for path, page := range map[string]string{
		"internal/explain/reasons.json":         string(reasons) + "\n",
		"docs/reference/doctor.md":              doctorPage(),
		"docs/reference/conformance.md":         conformancePage(),
		"docs/reference/events.md":              events(),
		"docs/reference/metrics.md":             metricsPage(t),
		"docs/reference/provider-interfaces.md": interfacesPage(t),
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if *generate {
				if err := os.WriteFile(filepath.Join(root, path), []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(read(t, path), page); diff != "" {
				t.Errorf("the page is stale, run make generate (-page +code):\n%s", diff)
			}
		})
	}
}

// cell escapes text for a cell of a Markdown table.
var cell = strings.NewReplacer("\n", " ", "|", `\|`, "*", `\*`)

// sentence returns the text for a cell, with a full stop at the end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return cell.Replace(strings.TrimSuffix(text, ".")) + "."
}

package scaffold

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformanceOfTheProjectFindsMistakes adds a typical mistake to a new project,
// and checks that the conformance test of the project fails.
func TestConformanceOfTheProjectFindsMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the project's tests")
	}
	for name, row := range map[string]struct{ file, right, wrong, fails string }{
		"TerminatedInstanceIsTakenForPresent": {"provider/instances.go", "Gone: instance.State == cloud.Terminated", "Gone: false", "instances/gone-by-id"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join(example, row.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), row.right) != 1 {
				t.Fatalf("%s does not have %q once", row.file, row.right)
			}
			mutant := filepath.Join(t.TempDir(), "mutant.go")
			write(t, mutant, strings.Replace(string(text), row.right, row.wrong, 1))
			replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			write(t, overlay, string(replaced))

			test := exec.CommandContext(t.Context(), "go", "test", "-overlay="+overlay, "-run=^TestConformance$/^"+row.fails+"$", "./provider")
			test.Dir = example
			output, err := test.CombinedOutput()
			if err == nil || !strings.Contains(string(output), "--- FAIL: TestConformance/"+row.fails+" ") {
				t.Errorf("got error %v, want that %s fails:\n%s", err, row.fails, output)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

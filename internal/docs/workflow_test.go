package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflowRunsAllSteps compares the parts of the workflow with the steps of .ci/run.
func TestWorkflowRunsAllSteps(t *testing.T) {
	var steps []string
	for _, match := range regexp.MustCompile(`(?m)^step '([^']+)'`).FindAllStringSubmatch(read(t, ".ci/run"), -1) {
		steps = append(steps, match[1])
	}
	if len(steps) < 10 {
		t.Fatalf("found only %q in .ci/run", steps)
	}
	var workflow struct {
		Jobs struct {
			Part struct {
				Strategy struct {
					Matrix struct{ Part []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/ci.yaml")), &workflow); err != nil {
		t.Fatal(err)
	}
	var run []string
	for _, part := range workflow.Jobs.Part.Strategy.Matrix.Part {
		for _, word := range regexp.MustCompile(`"[^"]+"|\S+`).FindAllString(part, -1) {
			run = append(run, strings.Trim(word, `"`))
		}
	}
	for _, name := range steps {
		if !slices.Contains(run, name) {
			t.Errorf("the workflow does not run %q", name)
		}
	}
	for _, name := range run {
		if !slices.Contains(steps, name) {
			t.Errorf("the workflow runs %q, which .ci/run does not have", name)
		}
	}
}

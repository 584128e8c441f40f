package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
	var run []string
	for _, part := range regexp.MustCompile(`(?m)^ +- '(machine .+)'$`).FindAllStringSubmatch(read(t, ".github/workflows/ci.yaml"), -1) {
		for _, word := range regexp.MustCompile(`"[^"]+"|\S+`).FindAllString(part[1], -1) {
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

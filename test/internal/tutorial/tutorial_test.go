package tutorial_test

import (
	"go/format"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/scaffold"
	"github.com/fairlead-k8s/fairlead/test/internal/tutorial"
)

const page = "../../../docs/tutorials/load-balancers-and-routes.md"

// Each block of the page fits the project that "fairlead new" writes. An end-to-end test
// builds the result and runs the commands.
func TestPageFitsTheProject(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := tutorial.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range (scaffold.Project{Name: "acme", Module: "example.com/acme", Version: "v1.2.3"}).Files() {
		files[f.Path] = f.Text
	}
	old := maps.Clone(files)
	if err := tutorial.Apply(files, blocks); err != nil {
		t.Fatal(err)
	}
	changed := []string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if files[file] == old[file] {
			continue
		}
		changed = append(changed, file)
		formatted, err := format.Source([]byte(files[file]))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if d := cmp.Diff(string(formatted), files[file]); d != "" {
			t.Errorf("%s (-gofmt +page):\n%s", file, d)
		}
	}
	want := []string{"cloud/cloud.go", "cloud/loadbalancers.go", "cloud/routes.go", "provider/conformance_test.go", "provider/loadbalancers.go", "provider/provider.go", "provider/routes.go"}
	if d := cmp.Diff(want, changed); d != "" {
		t.Errorf("changed files (-want +got):\n%s", d)
	}
	for _, b := range blocks {
		switch {
		case b.Language == "sh" && b.File == "README.md" && !strings.Contains(files["README.md"], b.Text):
			t.Errorf("the project's README.md has no\n%s", b.Text)
		case b.Language == "sh" && (b.File == "README.md" || b.File == "test/e2e"):
		case (b.Language == "go" || b.Language == "diff") && path.Ext(b.File) == ".go":
		case b.Language == "text" && b.File == "test/e2e": // what a command prints
		default:
			t.Errorf("nothing holds this block of %q, which is %s:\n%s", b.File, b.Language, b.Text)
		}
	}
}

func TestApply(t *testing.T) {
	for name, row := range map[string]struct {
		block tutorial.Block
		want  string
	}{
		"Fits":       {tutorial.Block{File: "a.go", Language: "diff", Text: " a\n-b\n+c\n"}, ""},
		"DoesNotFit": {tutorial.Block{File: "a.go", Language: "diff", Text: "-x\n+y\n"}, "this is there 0 times"},
		"FitsTwice":  {tutorial.Block{File: "a.go", Language: "diff", Text: "-b\n+c\n"}, "this is there 2 times"},
		"NotNew":     {tutorial.Block{File: "a.go", Language: "go", Text: "package a\n"}, "its block must be a diff"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tutorial.Apply(map[string]string{"a.go": "a\nb\nd\nb\n"}, []tutorial.Block{row.block})
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

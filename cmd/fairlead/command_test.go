package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// run returns what the command prints, or the error as main prints it.
func run(t *testing.T, v versions.Version, line string) string {
	t.Helper()
	var out bytes.Buffer
	command := newCommand(v)
	command.SetArgs(strings.Fields(line))
	command.SetOut(&out)
	command.SetErr(io.Discard)
	if err := command.ExecuteContext(t.Context()); err != nil {
		return out.String() + "fairlead: " + err.Error() + "\n"
	}
	return out.String()
}

// inFolder returns a new folder with a checkout of Fairlead and another
// checkout.
func inFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, module := range map[string]string{"fairlead": "github.com/fairlead-k8s/fairlead", "other": "github.com/fairlead-k8s/fairlead/v2"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, "go.mod"), []byte("module "+module+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConversation(t *testing.T) {
	released := versions.Version{Text: "v1.2.3", Module: "v1.2.3"}
	for name, row := range map[string]struct {
		version versions.Version
		line    string
		want    string
	}{
		"Version":           {versions.Version{Text: "v0.1.0-3-gabc"}, "--version", "fairlead v0.1.0-3-gabc\n"},
		"VersionAsACommand": {versions.Version{Text: "v0.1.0-3-gabc"}, "version", "fairlead v0.1.0-3-gabc\n"},
		"MistypedCommand":   {released, "nwe", "fairlead: unknown command \"nwe\" for \"fairlead\"\n\nDid you mean this?\n\tnew\n\n"},
		"MistypedFlag":      {released, "new acme --modul example.com/acme", "fairlead: unknown flag: --modul; did you mean --module?; fairlead new --help says more\n"},
		"Released": {released, "new acme --module example.com/acme", `
20 files written to acme: a cloud-controller-manager for acme.

Next:

  cd acme
  go mod tidy
  go test ./...

Then acme/README.md says how to see it work.
`},
		"BesideACheckout": {versions.Version{}, "new acme --module example.com/acme --dir deep/er --replace fairlead", `
20 files written to deep/er: a cloud-controller-manager for acme.

Next:

  cd deep/er
  go test ./...

Then deep/er/README.md says how to see it work.
`},
		"NoName":             {released, "new --module example.com/acme", "fairlead: want `fairlead new NAME --module PATH`, got 0 arguments; --help says more\n"},
		"TwoNames":           {released, "new a b --module example.com/acme", "fairlead: want `fairlead new NAME --module PATH`, got 2 arguments; --help says more\n"},
		"WrongName":          {released, "new Acme --module example.com/acme", "fairlead: NAME: \"Acme\" is not a name for a cloud: lower-case letters, digits and dashes, first a letter, such as acme; it becomes the scheme of provider IDs, as in acme://region/i-1\n"},
		"NoModule":           {released, "new acme", "fairlead: --module is missing: the path of the Go module, such as github.com/acme/acme-cloud-controller-manager\n"},
		"WrongModule":        {released, "new acme --module acme", "fairlead: --module: \"acme\" does not begin with a domain, such as github.com/acme/acme-cloud-controller-manager; example.com/acme will do until there is one\n"},
		"WrongOutput":        {released, "new acme --module example.com/acme -o yaml", "fairlead: --output: \"yaml\" is neither text nor json\n"},
		"NoVersion":          {versions.Version{Text: "abc"}, "new acme --module example.com/acme", "fairlead: --replace is missing: this fairlead was built from a checkout and has no version that Go could fetch, so give the folder of that checkout\n"},
		"NoCheckout":         {versions.Version{}, "new acme --module example.com/acme --replace nowhere", "fairlead: --replace: \"nowhere\" is not a checkout of Fairlead: open nowhere/go.mod: no such file or directory\n"},
		"CheckoutOfAnother":  {versions.Version{}, "new acme --module example.com/acme --replace other", "fairlead: --replace: \"other\" is not a checkout of Fairlead: its go.mod is of another module\n"},
		"NothingOverwritten": {released, "new fairlead --module example.com/acme", "fairlead: fairlead/go.mod is there already; nothing was written, because nothing is overwritten: move it away, or choose another folder\n"},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t)
			if d := cmp.Diff(strings.TrimPrefix(row.want, "\n"), run(t, row.version, row.line)); d != "" {
				t.Errorf("fairlead %s (-want +got):\n%s", row.line, d)
			}
			if _, err := os.Stat("acme/main.go"); err == nil && strings.HasPrefix(row.want, "fairlead:") {
				t.Error("files were written in spite of the error")
			}
		})
	}
}

func TestJSON(t *testing.T) {
	dir := inFolder(t)
	var got created
	if err := json.Unmarshal([]byte(run(t, versions.Version{Module: "v1.2.3"}, "new acme --module example.com/acme -o json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, file := range got.Files {
		if _, err := os.Stat(filepath.Join(dir, got.Dir, file)); err != nil {
			t.Error(err)
		}
	}
	want := created{Name: "acme", Module: "example.com/acme", Dir: "acme", Files: got.Files, Next: []string{"cd acme", "go mod tidy", "go test ./..."}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestReplacement checks the path by which go.mod finds the checkout. It is
// relative to the project's folder.
func TestReplacement(t *testing.T) {
	dir := inFolder(t)
	for project, row := range map[string]struct{ checkout, want string }{
		"acme":              {"fairlead", "../fairlead"},
		"a/b":               {"fairlead", "../../fairlead"},
		"fairlead/examples": {"fairlead", ".."},
		".":                 {"fairlead", "./fairlead"},
		dir + "/c":          {"fairlead", "../fairlead"},
		"absolute":          {dir + "/fairlead", dir + "/fairlead"},
	} {
		got, err := creation{dir: project, checkout: row.checkout}.replacement()
		if got != row.want || err != nil {
			t.Errorf("%s from %s: got %q, error %v, want %q", row.checkout, project, got, err, row.want)
		}
	}
}

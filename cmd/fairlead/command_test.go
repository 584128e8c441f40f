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

	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// run returns the output of the command, or its error as main prints it.
func run(t *testing.T, v versions.Version, line string) string {
	t.Helper()
	var out bytes.Buffer
	command := newCommand(v)
	command.SetArgs(strings.Fields(line))
	command.SetOut(&out)
	command.SetErr(io.Discard)
	if err := command.ExecuteContext(t.Context()); err != nil {
		if code := inspect.Code(err); code != inspect.Failed {
			t.Errorf("fairlead %s ends with exit code %d", line, code)
		}
		return out.String() + "fairlead: " + err.Error() + "\n"
	}
	return out.String()
}

// inFolder changes into a new folder and returns it. The folder has a checkout of
// Fairlead and one of another module.
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
		"Version":           {versions.Version{Text: "v0.1.0-3-gabc"}, "--version", "fairlead version v0.1.0-3-gabc\n"},
		"VersionAsACommand": {versions.Version{Text: "v0.1.0-3-gabc"}, "version", "fairlead version v0.1.0-3-gabc\n"},
		"MistypedCommand":   {released, "nwe", "fairlead: unknown command \"nwe\" for \"fairlead\"\n\nDid you mean this?\n\tnew\n\n"},
		"MistypedFlag":      {released, "new acme --modul example.com/acme", "fairlead: unknown flag: --modul; did you mean --module?; fairlead new --help says more\n"},
		"Released": {released, "new acme --module example.com/acme", `
21 files written to acme: a cloud-controller-manager for acme.

Next:

  cd acme
  go mod tidy
  go test ./...

Then acme/README.md says how to see it work.
`},
		"BesideACheckout": {versions.Version{}, "new acme --module example.com/acme --dir deep/er --replace fairlead", `
21 files written to deep/er: a cloud-controller-manager for acme.

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
		"NameOfAnotherTool":  {released, "init", "fairlead: unknown command \"init\" for \"fairlead\"\n\nDid you mean this?\n\tnew\n\n"},
		"UnknownShell":       {released, "completion csh", "fairlead: fairlead completion: \"csh\" is none of bash, fish, powershell, zsh\n"},
		"FolderIsAFile":      {released, "new acme --module example.com/acme --dir fairlead/go.mod", "fairlead: --dir=fairlead/go.mod: a file is where a folder should be; choose another one: lstat fairlead/go.mod/.dockerignore: not a directory\n"},
		"NothingOverwritten": {released, "new fairlead --module example.com/acme", "fairlead: --dir=fairlead: fairlead/go.mod exists already; nothing was written, because existing files are not overwritten: move it away, or choose another folder\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inFolder(t)
			before := listing(t, dir)
			if d := cmp.Diff(strings.TrimPrefix(row.want, "\n"), run(t, row.version, row.line)); d != "" {
				t.Errorf("fairlead %s (-want +got):\n%s", row.line, d)
			}
			if d := cmp.Diff(before, listing(t, dir)); d != "" && strings.HasPrefix(row.want, "fairlead:") {
				t.Errorf("the folder has changed in spite of the error (-before +after):\n%s", d)
			}
		})
	}
}

// TestFirstAttempts runs command lines that a new user may get wrong. Each prints
// one line, ends with the expected exit code, and writes nothing.
func TestFirstAttempts(t *testing.T) {
	const nobody = `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}]}`
	for line, row := range map[string]struct {
		code int
		want string
	}{
		"foo":               {1, `unknown command "foo" for "fairlead"`},
		"help foo":          {1, `unknown command "foo" for "fairlead"`},
		"version x":         {1, `unknown command "x" for "fairlead version"`},
		"completion bash x": {1, `unknown command "x" for "fairlead completion bash"`},
		"new acme --module": {1, "flag needs an argument: --module"},
		"new acme -m x":     {1, "unknown shorthand flag: 'm' in -m; fairlead new --help says more"},
		"new acme --module example.com/acme --dir /proc/x":                                   {1, "--dir=/proc/x: mkdir /proc/x: no such file or directory"},
		"new external --module example.com/acme":                                             {1, "NAME: \"external\" is the value of kubelets' --cloud-provider for any external daemon"},
		"new 2acme --module example.com/acme":                                                {1, "NAME: \"2acme\" is not a name for a cloud: lower-case letters, digits and dashes, first a letter, such as acme"},
		"new acme- --module example.com/acme":                                                {1, "NAME: \"acme-\" is not a name for a cloud: "},
		"new acme_cloud --module example.com/acme":                                           {1, "NAME: \"acme_cloud\" is not a name for a cloud: "},
		"new ./acme --module example.com/acme":                                               {1, "NAME: \"./acme\" is not a name for a cloud: "},
		"new a-cloud-whose-name-is-too-long-to-be-one-of-an-image --module example.com/acme": {1, "NAME: \"a-cloud-whose-name-is-too-long-to-be-one-of-an-image\" has 52 characters, and may have at most 35"},
		"new acme --module https://example.com/acme":                                         {1, "--module: \"https://example.com/acme\" is a URL of a repository, and not the path of a Go module, such as "},
		"new acme --module example.com/acme.git":                                             {1, "--module: \"example.com/acme.git\" is a URL of a repository, "},
		"new acme --module acme/ccm":                                                         {1, "--module: \"acme/ccm\" does not begin with a domain, such as "},
		"new acme --module example.com/":                                                     {1, "--module: \"example.com/\" is not the path of a Go module, such as "},
		"new acme --module example.com/../acme":                                              {1, "--module: \"example.com/../acme\" is not the path of a Go module, "},
		"new acme --module github.com/fairlead-k8s/fairlead/acme":                            {1, "--module: \"github.com/fairlead-k8s/fairlead/acme\" is within Fairlead itself; give the path of your own project, "},
		"doctor x":                 {1, `unknown command "x" for "fairlead doctor"`},
		"doctor --strct":           {1, "unknown flag: --strct; did you mean --strict?; fairlead doctor --help says more"},
		"doctor --only foo":        {1, `--only: "foo" is not one of control-plane, nodes, daemon, rights, cloud, services`},
		"doctor --skip FL9":        {1, `--skip: there is no check "FL9"; docs/reference/doctor.md lists all`},
		"doctor -o xml":            {1, `invalid argument "xml" for "-o, --output" flag: want text, json, yaml or markdown`},
		"doctor --wait x":          {1, `invalid argument "x" for "--wait" flag: time: invalid duration "x"`},
		"doctor":                   {inspect.CannotLook, "no cluster is named: set --kubeconfig or $KUBECONFIG to a kubeconfig file"},
		"doctor --kubeconfig=nope": {inspect.CannotLook, "--kubeconfig: stat nope: no such file or directory"},
		"doctor --kubeconfig=kubeconfig --context=foo": {inspect.CannotLook, `--context: context "foo" does not exist in the kubeconfig file; kubectl config get-contexts lists the existing ones`},
		"doctor --kubeconfig=kubeconfig --bundle=x":    {inspect.CannotLook, "the API server: Get "},
		"link-check":                             {1, "want `fairlead link-check DIR`, got 0 arguments; --help says more"},
		"link-check nowhere":                     {1, "DIR: open nowhere/go.mod: no such file or directory"},
		"explain":                                {1, "want one object, such as node/worker-1, got 0; --waiting lists all that wait; --help says more"},
		"explain node/a node/b":                  {1, "want one object, such as node/worker-1, got 2; --waiting lists all that wait; --help says more"},
		"explain foo":                            {1, `"foo" is not node/NAME, service/NAMESPACE/NAME, route/CIDR, volume/NAME or request/NAME`},
		"explain pod/x":                          {1, `"pod/x" is not node/NAME, `},
		"explain --waiting":                      {inspect.CannotLook, "no cluster is named: "},
		"explain node/x --kubeconfig=kubeconfig": {inspect.CannotLook, "the API server: Get "},
		"explain node/x --kubeconfig=kubeconfig --daemon=foo": {1, `--daemon: "foo" is not https://HOST:PORT`},
	} {
		t.Run(line, func(t *testing.T) {
			dir := inFolder(t)
			for _, name := range []string{"KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST"} {
				t.Setenv(name, "")
			}
			if err := os.WriteFile("kubeconfig", []byte(nobody), 0o600); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			command := newCommand(versions.Version{Text: "v1.2.3", Module: "v1.2.3"})
			command.SetArgs(strings.Fields(line))
			command.SetOut(io.Discard)
			command.SetErr(io.Discard)
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), row.want) || strings.Contains(err.Error(), "\n") || inspect.Code(err) != row.code {
				t.Errorf("got %v with exit code %d, want %q with %d", err, inspect.Code(err), row.want, row.code)
			}
			if d := cmp.Diff(before, listing(t, dir)); d != "" {
				t.Errorf("the folder has changed (-before +after):\n%s", d)
			}
		})
	}
}

// listing returns the paths of a folder and of everything below it.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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

func TestShellWord(t *testing.T) {
	for path, want := range map[string]string{"acme": "acme", "with space/acme": "'with space/acme'", "o'neill": `'o'\''neill'`} {
		if got := shellWord(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

// TestReplacement checks the path by which go.mod finds the checkout. It is relative
// to the project's folder, unless --replace has an absolute path.
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

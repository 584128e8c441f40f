package deploy_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestBuildsAreReproducible builds a small program twice with the script that builds
// releases, in different folders and with different environments. make release does
// the same with the whole release.
func TestBuildsAreReproducible(t *testing.T) {
	script, err := filepath.Abs("../tools/static-build.sh")
	if err != nil {
		t.Fatal(err)
	}
	// The program imports nothing, so it compiles fast. It contains the path of its folder
	// unless the build trims it.
	sources := map[string]string{
		"go.mod":                 "module example.com/small\n\ngo 1.26\n",
		"cmd/small/main.go":      "package main\n\nfunc main() { println(\"small\") }\n",
		"tools/version-flags.sh": "#!/bin/sh\necho -X main.version=v1.0.0\n",
	}
	var built [2][]byte
	for n, environment := range [][]string{{"GOAMD64=v3", "TZ=Asia/Tokyo"}, {"GOAMD64=v1", "TZ=UTC"}} {
		folder := t.TempDir()
		for name, text := range sources {
			file := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), script, "linux/amd64", "small.bin", "small")
		cmd.Dir, cmd.Env = folder, append(os.Environ(), append(environment, "GOWORK=off")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if built[n], err = os.ReadFile(filepath.Join(folder, "small.bin")); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(built[n], []byte(folder)) {
			t.Errorf("the program names the folder in which it was built")
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("two builds of the same source differ")
	}
}

// releaseJob has the fields of a workflow's job that the test reads.
type releaseJob struct {
	Needs       string
	Environment string
	Permissions map[string]string
	Env         map[string]string
	Steps       []struct{ Uses, Run string }
}

// TestReleaseWorkflow checks the workflow's rights, its steps, and whether the files
// that it names exist. The workflow itself runs for the first time when the first
// release is made.
func TestReleaseWorkflow(t *testing.T) {
	var workflow struct {
		On          struct{ Push struct{ Tags []string } } `json:"on"`
		Permissions map[string]string
		Jobs        map[string]releaseJob
	}
	if err := yaml.Unmarshal([]byte(quoteOn(read(t, "../.github/workflows/release.yaml"))), &workflow); err != nil {
		t.Fatal(err)
	}
	if len(workflow.On.Push.Tags) != 1 || !strings.HasPrefix(workflow.On.Push.Tags[0], "v[0-9]") {
		t.Errorf("it runs for tags %q", workflow.On.Push.Tags)
	}
	if len(workflow.Permissions) != 0 || len(workflow.Jobs) != 2 {
		t.Errorf("permissions %v, %d jobs; want none, and build and publish", workflow.Permissions, len(workflow.Jobs))
	}
	build, publish := workflow.Jobs["build"], workflow.Jobs["publish"]
	if len(build.Permissions) != 1 || build.Permissions["contents"] != "read" {
		t.Errorf("the job that builds may %v", build.Permissions)
	}
	if publish.Needs != "build" || publish.Environment != "release" {
		t.Errorf("the job that publishes needs %q, in environment %q", publish.Needs, publish.Environment)
	}
	wanted := []string{"attestations", "contents", "id-token", "packages"}
	if got := slices.Sorted(maps.Keys(publish.Permissions)); !slices.Equal(got, wanted) {
		t.Errorf("the job that publishes may write %q, want %q", got, wanted)
	}
	var run, uses strings.Builder
	for _, step := range slices.Concat(build.Steps, publish.Steps) {
		run.WriteString(step.Run + "\n")
		uses.WriteString(step.Uses + "\n")
	}
	for _, part := range []string{"make release", "diff -r bin/built/first bin/built/second", "--check checksums.txt", "cosign sign --yes --recursive", " push ", "gh release create \"$TAG\" --draft"} {
		if !strings.Contains(run.String(), part) {
			t.Errorf("no step runs %q", part)
		}
	}
	if found, built := strings.Index(run.String(), "make vuln"), strings.Index(run.String(), "make release"); found < 0 || found > built {
		t.Error("known vulnerabilities are looked for before anything is built")
	}
	if strings.Count(uses.String(), "actions/attest-build-provenance@") != 2 {
		t.Error("files and image each have provenance")
	}
	// If an expression in a script contained text from outside, such as the name of a
	// tag, that text could run as code.
	if strings.Contains(run.String(), "${{") {
		t.Error("a script has an expression in it; hand it over by env")
	}
	for _, file := range regexp.MustCompile(`(?:\./cmd|tools|docs)/[\w./-]*\w`).FindAllString(run.String(), -1) {
		if _, err := os.Stat("../" + file); err != nil {
			t.Errorf("a step names %s: %v", file, err)
		}
	}
	guide := read(t, "../docs/guides/verify-a-release.md")
	for _, name := range []string{publish.Env["IMAGE"], publish.Env["CHARTS"], ".github/workflows/release.yaml"} {
		if name == "" || !strings.Contains(guide, name) {
			t.Errorf("docs/guides/verify-a-release.md does not name %q", name)
		}
	}
}

// TestKoBuildsWhatAReleaseHas compares .ko.yaml with the scripts.
func TestKoBuildsWhatAReleaseHas(t *testing.T) {
	var ko struct {
		DefaultBaseImage string
		DefaultPlatforms []string
		Builds           []struct {
			ID, Main            string
			Env, Flags, Ldflags []string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "../.ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}
	if len(ko.Builds) != 1 {
		t.Fatalf("%d programs", len(ko.Builds))
	}
	build := ko.Builds[0]
	if _, err := os.Stat("../" + build.Main); err != nil || build.ID != filepath.Base(build.Main) {
		t.Errorf("program %s of %s: %v", build.ID, build.Main, err)
	}
	script := read(t, "../tools/static-build.sh")
	for _, part := range slices.Concat(build.Env, build.Flags) {
		if !strings.Contains(script, part) {
			t.Errorf("tools/static-build.sh does not have %s", part)
		}
	}
	if want := []string{"-s -w {{.Env.LDFLAGS}}"}; !slices.Equal(build.Ldflags, want) || !strings.Contains(script, `-ldflags "-s -w $(tools/version-flags.sh)"`) {
		t.Errorf("ldflags %q, want %q and the same in tools/static-build.sh", build.Ldflags, want)
	}
	for _, file := range []string{"release.sh", "image.sh"} {
		if !strings.Contains(read(t, "../tools/"+file), "for platform in "+strings.Join(ko.DefaultPlatforms, " ")) {
			t.Errorf("tools/%s builds other platforms than %q", file, ko.DefaultPlatforms)
		}
	}
	if !strings.Contains(read(t, "../Dockerfile"), "FROM "+ko.DefaultBaseImage) {
		t.Errorf("the Dockerfile has another base than %s", ko.DefaultBaseImage)
	}
}

// quoteOn keeps YAML from reading the key "on" as true.
func quoteOn(text string) string {
	return strings.Replace(text, "\non:\n", "\n\"on\":\n", 1)
}

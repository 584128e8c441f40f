package deploy_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// isIgnored reports whether a file stays out of a build. Several lines of a
// .dockerignore may match the file or one of its folders. The last of them decides.
func isIgnored(t *testing.T, dockerignore, file string) bool {
	t.Helper()
	ignored := false
	for line := range strings.Lines(dockerignore) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, kept := strings.CutPrefix(line, "!")
		pattern, anywhere := strings.CutPrefix(pattern, "**/")
		for part := file; part != "."; part = path.Dir(part) {
			name := part
			if anywhere {
				name = path.Base(part)
			}
			matches, err := path.Match(pattern, name)
			if err != nil {
				t.Fatal(err)
			}
			if matches {
				ignored = !kept
				break
			}
		}
	}
	return ignored
}

func TestLocalFilesStayOutOfTheBuild(t *testing.T) {
	for _, tt := range []struct {
		file          string
		secret, built []string
	}{
		{
			"../.dockerignore",
			[]string{"cloud.conf", "kubeconfig", ".env", "token", "cmd/cloud-controller-manager/cloud.conf", "tools/my.key", "deploy/admin.kubeconfig", "bin/x", ".vscode/settings.json"},
			[]string{"go.mod", "go.sum", ".git/HEAD", "internal/app/run.go", "cmd/cloud-controller-manager/main.go", "tools/version-flags.sh", "simulator/internal/web/page/index.html"},
		},
		{
			"../examples/provider/.dockerignore",
			[]string{"cloud-config.yaml", "cloud.conf", "kubeconfig", ".env", ".git/config", "provider/token", "deploy/values.yaml"},
			[]string{"go.mod", "go.sum", "main.go", "provider/config.go", "cloud/http.go"},
		},
	} {
		text := read(t, tt.file)
		for _, file := range tt.secret {
			if !isIgnored(t, text, file) {
				t.Errorf("%s lets %s into the build", tt.file, file)
			}
		}
		for _, file := range tt.built {
			if isIgnored(t, text, file) {
				t.Errorf("%s keeps %s out of the build", tt.file, file)
			}
		}
	}
}

// Whoever can move a tag of an action could run code in our builds and in those of
// projects that fairlead new writes. So workflows name actions by commit, and
// Renovate is configured to pin images and actions.
func TestBuildsArePinned(t *testing.T) {
	for _, workflow := range []string{"../examples/provider/.github/workflows/ci.yaml", "../.github/workflows/ci.yaml", "../.github/workflows/release.yaml"} {
		used := regexp.MustCompile(`(?m)uses: (\S+)`).FindAllStringSubmatch(read(t, workflow), -1)
		if len(used) == 0 {
			t.Errorf("%s: no actions are found", workflow)
		}
		for _, action := range used {
			if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(action[1]) {
				t.Errorf("%s: action %s is not pinned by its commit", workflow, action[1])
			}
		}
	}
	for folder, managers := range map[string][]string{"..": {"dockerfile", "github-actions", "gomod", "custom.regex"}, "../examples/provider": {"dockerfile", "github-actions", "gomod"}} {
		for _, want := range append(managers, "docker:pinDigests", "helpers:pinGitHubActionDigests") {
			if !strings.Contains(read(t, folder+"/renovate.json"), `"`+want+`"`) {
				t.Errorf("%s/renovate.json has no %s", folder, want)
			}
		}
	}
}

// The newest patch of Go fixes known vulnerabilities of its standard library. So whatever
// compiles our programs and those of projects that fairlead new writes names the same
// patch, and Renovate updates all of these places. The line "go" in go.mod is only the
// version of the language that users of the module need.
func TestOneToolchain(t *testing.T) {
	line := regexp.MustCompile(`(?m)^toolchain go(1\.\d+\.\d+)$`)
	own := line.FindStringSubmatch(read(t, "../go.mod"))
	if own == nil {
		t.Fatal("go.mod has no line toolchain")
	}
	files := 0
	is := func(file string, pattern *regexp.Regexp) {
		files++
		named := pattern.FindAllStringSubmatch(read(t, file), -1)
		if len(named) == 0 {
			t.Errorf("%s names no version of Go", file)
		}
		for _, n := range named {
			if n[1] != own[1] {
				t.Errorf("%s has Go %q, and go.mod has %q", file, n[1], own[1])
			}
		}
	}
	walked := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.Name() == "go.mod":
			is(file, line)
		case entry.Name() == "Dockerfile":
			is(file, regexp.MustCompile(`(?m)^FROM .*\bgolang:([^\s@]+)`))
		case filepath.Base(filepath.Dir(file)) == "workflows" && filepath.Ext(file) == ".yaml":
			is(file, regexp.MustCompile(`(?m)^ *go-version(?:-file)?: (\S+)`))
		}
		return nil
	})
	if walked != nil || files < 15 {
		t.Errorf("%d files were looked at: %v", files, walked)
	}
	for _, file := range []string{"../renovate.json", "../examples/provider/renovate.json"} {
		var config struct {
			PackageRules []struct {
				MatchManagers, MatchDepTypes []string
				Enabled                      *bool
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &config); err != nil {
			t.Fatal(err)
		}
		updates := false
		for _, r := range config.PackageRules {
			if slices.Contains(r.MatchManagers, "gomod") && (len(r.MatchDepTypes) == 0 || slices.Contains(r.MatchDepTypes, "toolchain")) && r.Enabled != nil {
				updates = *r.Enabled // The last rule wins.
			}
		}
		if !updates {
			t.Errorf("%s leaves the toolchain of go.mod out", file)
		}
	}
}

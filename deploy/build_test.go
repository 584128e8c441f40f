package deploy_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
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
	for folder, managers := range map[string][]string{"..": {"dockerfile", "github-actions", "custom.regex"}, "../examples/provider": {"dockerfile", "github-actions"}} {
		for _, want := range append(managers, "docker:pinDigests", "helpers:pinGitHubActionDigests") {
			if !strings.Contains(read(t, folder+"/renovate.json"), `"`+want+`"`) {
				t.Errorf("%s/renovate.json has no %s", folder, want)
			}
		}
	}
}

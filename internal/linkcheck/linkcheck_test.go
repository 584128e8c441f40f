package linkcheck

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/fairlead-k8s/fairlead/internal/golden"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

// TestModules compares modules.txt with the graph of a project that links Fairlead.
func TestModules(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{if not (or .Main .Replace)}}{{.Path}} {{.Version}}{{end}}", "all")
	cmd.Dir = filepath.Join("..", "..", "examples", "provider")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" {
			list.WriteString(line)
		}
	}
	golden.Compare(t, "modules.txt", list.String(), "examples/provider/go.mod")
}

// run returns the output of the command for a go.mod with these lines, and its exit
// code.
func run(t *testing.T, lines string, arguments ...string) (string, int) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module example.com/cloud\n\ngo 1.26\n\n"+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := New(cobra.ExactArgs(1))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"."}, arguments...))
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	text := out.String()
	if err != nil && err.Error() != "" {
		text += err.Error() + "\n"
	}
	return text, inspect.Code(err)
}

// The lines are those of real projects.
func TestLines(t *testing.T) {
	release := needed()[contract]
	names := strings.NewReplacer(
		"RELEASE1", "v1"+strings.TrimPrefix(release, "v0"), "RELEASE", release, "CANDIDATE", semver.MajorMinor(release)+".0-rc.0", "CEL", needed()["github.com/google/cel-go"],
		"OPENAPI", needed()["k8s.io/kube-openapi"], "METADATA", needed()["cloud.google.com/go/compute/metadata"],
		"SYS", needed()["golang.org/x/sys"], "TOOLS", needed()["golang.org/x/tools"])
	const fine = "No line has to go. Whether your code compiles with these versions, go build says.\n"
	for name, row := range map[string]struct{ lines, want string }{
		"NothingReplaced": {"require k8s.io/cloud-provider v0.34.1\n", fine},
		"OlderThanKubernetesPackagesNeed": { // cloudscale
			"require k8s.io/cloud-provider v0.30.1\n\nreplace github.com/google/cel-go => github.com/google/cel-go v0.17.7\n", `
go.mod:7: error: replace github.com/google/cel-go => github.com/google/cel-go v0.17.7
  Older than CEL, which Fairlead needs
  go mod edit -dropreplace=github.com/google/cel-go

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ADateIsOlder": { // thalassa, harvester
			"replace (\n\tk8s.io/kube-openapi => k8s.io/kube-openapi v0.0.0-20250318190949-c8a335a9a2ff\n)\n", `
go.mod:6: error: replace k8s.io/kube-openapi => k8s.io/kube-openapi v0.0.0-20250318190949-c8a335a9a2ff
  Older than OPENAPI, which Fairlead needs
  go mod edit -dropreplace=k8s.io/kube-openapi

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ModulesThatOnlyTheGraphHas": { // cloudstack, civo
			"replace (\n\tcloud.google.com/go/compute/metadata => cloud.google.com/go/compute/metadata v0.2.3\n" +
				"\tgolang.org/x/sys => golang.org/x/sys v0.0.0-20181122145206-62eef0e2fa9b\n\tgolang.org/x/tools => golang.org/x/tools v0.0.0-20181122213734-04b5d21e00f1\n)\n", `
go.mod:6: error: replace cloud.google.com/go/compute/metadata => cloud.google.com/go/compute/metadata v0.2.3
  Older than METADATA, which Fairlead needs
  go mod edit -dropreplace=cloud.google.com/go/compute/metadata

go.mod:7: error: replace golang.org/x/sys => golang.org/x/sys v0.0.0-20181122145206-62eef0e2fa9b
  Older than SYS, which Fairlead needs
  go mod edit -dropreplace=golang.org/x/sys

go.mod:8: error: replace golang.org/x/tools => golang.org/x/tools v0.0.0-20181122213734-04b5d21e00f1
  Older than TOOLS, which Fairlead needs
  go mod edit -dropreplace=golang.org/x/tools

With 3 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ForkOfTheSkeleton": { // stackit
			"replace k8s.io/cloud-provider => github.com/stackitcloud/cloud-provider v0.31.7-ske-1\n", `
go.mod:5: error: replace k8s.io/cloud-provider => github.com/stackitcloud/cloud-provider v0.31.7-ske-1
  A fork of the skeleton. Fairlead takes the place of the skeleton, and needs the contract RELEASE as it is
  go mod edit -dropreplace=k8s.io/cloud-provider

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"OtherForksAreLookedAt": {
			"replace (\n\tgithub.com/google/cel-go => ../cel-go\n\tk8s.io/api => example.com/api v0.31.7\n)\n", `
go.mod:6: warning: replace github.com/google/cel-go => ../cel-go
  Another module takes its place. It has to have what CEL has, which Fairlead needs
  go mod edit -dropreplace=github.com/google/cel-go

go.mod:7: error: replace k8s.io/api => example.com/api v0.31.7
  Modules of Kubernetes work with the same release only, here RELEASE
  go mod edit -dropreplace=k8s.io/api

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ModuleThatHasEnded": { // harvester
			"require k8s.io/legacy-cloud-providers v0.29.0\n\nreplace k8s.io/legacy-cloud-providers => k8s.io/legacy-cloud-providers v0.33.7\n", `
go.mod:7: error: replace k8s.io/legacy-cloud-providers => k8s.io/legacy-cloud-providers v0.33.7
  The last release is that of Kubernetes 1.30
  go mod edit -dropreplace=k8s.io/legacy-cloud-providers

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ModuleThatHasEndedIsRequired": {"require k8s.io/legacy-cloud-providers v0.29.0\n", `
go.mod:5: error: require k8s.io/legacy-cloud-providers v0.29.0
  The last release is that of Kubernetes 1.30
  go mod edit -droprequire=k8s.io/legacy-cloud-providers

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`},
		"WarningsAlone": {"replace github.com/google/cel-go v0.99.0 => ../cel-go\n", `
go.mod:5: warning: replace github.com/google/cel-go v0.99.0 => ../cel-go
  Another module takes its place. It has to have what CEL has, which Fairlead needs
  go mod edit -dropreplace=github.com/google/cel-go@v0.99.0

` + fine},
		"KubernetesItselfNeedsReplacements": { // harvester
			"require k8s.io/kubernetes v1.34.0\n\nreplace (\n\tk8s.io/api => k8s.io/api RELEASE\n\tk8s.io/kubelet => k8s.io/kubelet v0.34.0\n\tk8s.io/kubernetes => k8s.io/kubernetes v1.34.0\n)\n", `
go.mod:9: error: replace k8s.io/kubelet => k8s.io/kubelet v0.34.0
  Modules of Kubernetes work with the same release only, here RELEASE
  go mod edit -replace=k8s.io/kubelet=k8s.io/kubelet@RELEASE

go.mod:10: error: replace k8s.io/kubernetes => k8s.io/kubernetes v1.34.0
  Modules of Kubernetes work with the same release only, here RELEASE1
  go mod edit -replace=k8s.io/kubernetes=k8s.io/kubernetes@RELEASE1

With 2 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"AnotherPatchOfKubernetes": {
			"require k8s.io/kubernetes RELEASE1\n\nreplace k8s.io/api => k8s.io/api CANDIDATE\n", `
go.mod:7: error: replace k8s.io/api => k8s.io/api CANDIDATE
  Older than RELEASE, which Fairlead needs
  go mod edit -replace=k8s.io/api=k8s.io/api@RELEASE

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"OnlyTheProjectRequiresIt": {
			"require k8s.io/apiextensions-apiserver v0.35.3\n", `
go.mod:5: error: require k8s.io/apiextensions-apiserver v0.35.3
  Modules of Kubernetes work with the same release only, here RELEASE, and Go does not raise this one
  go get k8s.io/apiextensions-apiserver@RELEASE

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"AnOldReleaseWithAHigherNumber": { // cloudstack
			"require k8s.io/client-go v12.0.0+incompatible\n", `
go.mod:5: error: require k8s.io/client-go v12.0.0+incompatible
  An old release with a higher number than RELEASE, which Fairlead needs, so Go keeps it
  go mod edit -require=k8s.io/client-go@RELEASE

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"WithoutAReplacementTheOldReleaseWouldReturn": { // civo
			"require k8s.io/client-go v12.0.0+incompatible\n\nreplace k8s.io/client-go => k8s.io/client-go v0.21.1\n", `
go.mod:7: error: replace k8s.io/client-go => k8s.io/client-go v0.21.1
  Modules of Kubernetes work with the same release only, here RELEASE
  go mod edit -replace=k8s.io/client-go=k8s.io/client-go@RELEASE

With 1 of the lines Fairlead cannot be linked. After the commands: go mod tidy
`,
		},
		"ReplacesAVersionThatIsNotUsed": {"replace github.com/google/cel-go v0.17.0 => github.com/google/cel-go v0.17.7\n", fine},
		"ReplacedByANewerOne":           {"replace github.com/google/cel-go => github.com/google/cel-go v0.99.0\n", fine},
		"NotInFairleadsGraph":           {"replace (\n\tgithub.com/openshift/api => github.com/openshift/api v0.0.0-20200526144822-34f54f12813a\n\tk8s.io/klog => k8s.io/klog v0.1.0\n)\n", fine},
		"NotAGoMod":                     {"replace a\nrequire\n", "DIR: not a go.mod: go.mod:5: usage: replace module/path [v1.2.3] => other/module v1.4; \t or replace module/path [v1.2.3] => ../local/directory; go.mod:6: usage: require module/path v1.2.3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := run(t, names.Replace(row.lines))
			if d := cmp.Diff(strings.TrimPrefix(names.Replace(row.want), "\n"), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if want := strings.Contains(row.want, "cannot be linked") || strings.HasPrefix(row.want, "DIR:"); want != (code == inspect.Failed) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	text, code := run(t, "replace github.com/google/cel-go => ../cel-go\n", "-o", "json")
	var got Report
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, text)
	}
	want := Report{File: "go.mod", Module: "example.com/cloud", Findings: []Finding{{
		Level: Warning, Line: 5, Text: "replace github.com/google/cel-go => ../cel-go",
		Why: "Another module takes its place. It has to have what " + needed()["github.com/google/cel-go"] + " has, which Fairlead needs",
		Do:  "go mod edit -dropreplace=github.com/google/cel-go",
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// execute runs a command, and returns its output and its error.
func execute(t *testing.T, cmd *cobra.Command, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors = true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// newCheckFlags returns the command "check-flags" for the daemon of a program.
func newCheckFlags(o daemon.Options) *cobra.Command {
	s := daemon.New(o).Settings
	s.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	return checkFlagsCommand(s)
}

func TestCheckFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		out  string
		err  string
	}{
		{"AllAreUsed", "-- --cloud-provider=acme -v 2", `
ARGUMENT               VERDICT  WHY
--cloud-provider=acme  used
-v 2                   used
`, ""},
		{"NameOfTheProgramIsSkipped", "-- /bin/ccm --cloud-provider=acme", `
ARGUMENT               VERDICT  WHY
--cloud-provider=acme  used
`, ""},
		{"DoesNotStart", "-- --cloud-provider=acme --node-sync-period=1m --logtostderr=true", `
ARGUMENT               VERDICT          WHY
--cloud-provider=acme  used
--node-sync-period=1m  changes nothing  Upstream ignores it, too, and warns.
--logtostderr=true     unknown          ` + `unknown flag: --logtostderr: Kubernetes 1.26 has removed it; the log always goes to standard error
`, "the daemon does not start with these flags"},
		{"NoCommandLine", "", "", "no command line: give it after --, or the file of a manifest with -f"},
		{"NotAfterTheDashes", "--cloud-provider=acme", "", "unknown flag: --cloud-provider; the command line to check comes after --, as in `check-flags -- --cloud-provider=acme`"},
		{"WordWithoutDashes", "foo", "", "\"foo\" is refused; the command line to check comes after --, as in `check-flags -- --cloud-provider=acme`"},
		{"WordBeforeTheDashes", "foo -- --cloud-provider=acme", "", "\"foo\" is refused; the command line to check comes after --, as in `check-flags -- --cloud-provider=acme`"},
		{"WordAfterTheProgram", "-- /bin/ccm foo --cloud-provider=acme", `
ARGUMENT               VERDICT  WHY
foo                    refused  the daemon takes flags only; a flag that is true or false needs =, as in --node-deletion=false
--cloud-provider=acme  used
`, "the daemon does not start with these flags"},
		{"Both", "-f x -- --cloud-provider=acme", "", "give either a command line or --filename"},
		{"UnknownOutput", "-o yaml -- --cloud-provider=acme", "", `--output: "yaml" is neither text nor json`},
		{"NoFile", "-f /nowhere", "", "--filename: open /nowhere: no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := execute(t, newCheckFlags(plain), "", strings.Fields(tc.args)...)
			if diff := cmp.Diff(strings.TrimPrefix(tc.out, "\n"), out); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestCheckFlagsPrintsJSON(t *testing.T) {
	out, err := execute(t, newCheckFlags(plain), "", "-o", "json", "--", "--cloud-provider=acme", "--port=0")
	var got struct {
		Starts    bool
		Arguments []settings.Judgement
	}
	if e := json.Unmarshal([]byte(out), &got); e != nil || err == nil {
		t.Fatal(e, err, out)
	}
	if got.Starts || len(got.Arguments) != 2 || got.Arguments[1].Verdict != settings.Unknown {
		t.Errorf("got %+v", got)
	}
}

// The sub-command "check-flags" also knows the flags that the program adds to the
// daemon. The help of the sub-command lists only its own flags.
func TestDaemonChecksItsOwnFlags(t *testing.T) {
	var own cliflag.NamedFlagSets
	own.FlagSet("acme").String("acme-zone", "", "The zone.")
	program := plain
	program.Flags = own
	out, err := execute(t, New(program), "", "check-flags", "--", "--cloud-provider=acme", "--acme-zone=north")
	if err != nil || !strings.Contains(out, "--acme-zone=north      used\n") {
		t.Errorf("%v: %s", err, out)
	}
	help, err := execute(t, New(plain), "", "check-flags", "--help")
	if err != nil || !strings.Contains(help, "--container") || strings.Contains(help, "--node-deletion ") {
		t.Errorf("%v: %s", err, help)
	}
}

const daemonSet = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: ccm}
---
apiVersion: apps/v1
kind: DaemonSet
spec:
  template:
    spec:
      containers:
      - name: proxy
        args: [--listen=:1]
      - name: ccm
        command: [/bin/ccm, --cloud-provider=acme]
        args: ["--cluster-name=$(CLUSTER)", "-v=2"]
`

func TestManifests(t *testing.T) {
	list := `{"kind": "List", "items": [{"kind": "Pod", "spec": {"containers": [{"name": "a", "args": ["--v=1"]}]}}]}`
	for _, tc := range []struct {
		name, text, container string
		want                  string // joined by spaces, or the error
	}{
		{"ContainerWithAProvider", daemonSet, "", "/bin/ccm --cloud-provider=acme --cluster-name=$(CLUSTER) -v=2"},
		{"ContainerByName", daemonSet, "proxy", "--listen=:1"},
		{"ListOfPods", list, "", "--v=1"},
		{"NoSuchContainer", daemonSet, "x", `which container is the daemon? Name it with --container: it is one of ["proxy" "ccm"]`},
		{"NoContainer", "kind: ConfigMap", "", "there is no container in it: give the manifest of a Deployment, a DaemonSet, a StatefulSet or a Pod"},
		{"Shell", `{"spec": {"containers": [{"name": "a", "command": ["/bin/sh", "-c", "exec /ccm"]}]}}`, "", `the container "a" runs a shell: give the daemon's own command line after --`},
		{"NoYAML", "\t:", "", "error converting YAML to JSON: yaml: found character that cannot start any token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args, err := commandLine([]byte(tc.text), tc.container)
			got := strings.Join(args, " ")
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestCheckFlagsOfAManifest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ccm.yaml")
	if err := os.WriteFile(file, []byte(daemonSet), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "--cluster-name=$(CLUSTER)  used     the kubelet fills in its value, which is not checked here\n"
	for in, args := range map[string][]string{"": {"-f", file}, daemonSet: {"-f", "-"}} {
		if out, err := execute(t, newCheckFlags(plain), in, args...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

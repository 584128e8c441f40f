package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With the environment variable asProgram, the test binary runs as the program.
const asProgram = "FAIRLEAD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestProcess runs the program itself. It checks the two output streams, the exit
// code and the files that are left. A shell starts it, because a shell can set the
// environment, limit the size of files and redirect the output.
func TestProcess(t *testing.T) {
	const (
		project = "new acme --module example.com/acme --replace fairlead"
		written = "21 files written to acme: a cloud-controller-manager for acme.\n"
	)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		line     string
		before   string // what the shell does first
		to       string // where the shell redirects the output; empty: the test reads it
		out, err string // how standard output and standard error begin; empty: nothing is printed
		code     int
		files    bool // whether a project is written
	}{
		"Nothing":        {"", "", "", "The companion of the daemon, for those who build and run one.", "", 0, false},
		"Completion":     {"completion bash", "", "", "# bash completion V2 for fairlead", "", 0, false},
		"Version":        {"version", "", "", "fairlead version ", "", 0, false},
		"Project":        {project, "", "", written, "", 0, true},
		"NoColour":       {project, "export NO_COLOR=1 TERM=xterm-256color", "", written, "", 0, true},
		"NoNetwork":      {project, "export http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 GOPROXY=off", "", written, "", 0, true},
		"Refused":        {"new Acme --module example.com/acme", "", "", "", "fairlead: NAME: \"Acme\" is not a name for a cloud: ", 1, false},
		"FlagMistyped":   {"new acme --modul example.com/acme", "", "", "", "fairlead: unknown flag: --modul; did you mean --module?; fairlead new --help says more\n", 1, false},
		"FullDisk":       {project, "ulimit -f 0", "", "", "fairlead: --dir=acme: write acme/.dockerignore: file too large\n", 1, false},
		"OutputIsFull":   {"version", "", "/dev/full", "", "fairlead: write /dev/stdout: no space left on device\n", 1, false},
		"ReportIsFull":   {project, "", "/dev/full", "", "fairlead: write /dev/stdout: no space left on device\n", 1, true},
		"NobodyReads":    {project, "exec 3> >(true); wait $!", "&3", "", "", -1, true}, // SIGPIPE
		"CannotBeLooked": {"doctor", "export KUBECONFIG= HOME= KUBERNETES_SERVICE_HOST=", "", "", "fairlead: no cluster is named: ", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inFolder(t)
			before := listing(t, dir)
			script := row.before + "\nexec " + self + " " + row.line
			if row.to != "" {
				script += " >" + row.to
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			var out, err strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &err
			_ = cmd.Run() // the error is only the exit code, which is read below
			if code := cmd.ProcessState.ExitCode(); code != row.code {
				t.Errorf("got exit code %d, want %d", code, row.code)
			}
			for stream, texts := range map[string][2]string{"output": {out.String(), row.out}, "errors": {err.String(), row.err}} {
				if got, want := texts[0], texts[1]; !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "\x1b") {
					t.Errorf("%s: got %q, want %q", stream, got, want)
				}
			}
			if d := cmp.Diff(before, listing(t, dir)); (d != "") != row.files {
				t.Errorf("files are written: %t, want %t (-before +after):\n%s", d != "", row.files, d)
			}
		})
	}
}

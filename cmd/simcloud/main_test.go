package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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

// program returns the program as a process of its own, in a folder of its own. A
// program that does not end is killed.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Dir = t.TempDir()
	return cmd
}

// TestProcess runs the program itself. It checks the two output streams and the exit
// code. No row changes the cloud or writes a file.
func TestProcess(t *testing.T) {
	cloud := newTerminal(t)
	run(t, "create", "node-1")
	before := run(t, "list", "-o", "json")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer page.Close()
	_, host, _ := strings.Cut(cloud.url, "://")
	_, otherHost, _ := strings.Cut(other.URL, "://")
	for name, row := range map[string]struct {
		line     string
		to       func(t *testing.T) *os.File // the file that is standard output; nil: the test reads it
		out, err string                      // how standard output and standard error begin; empty: nothing is printed
		code     int                         // -1: a signal has ended it
	}{
		"Nothing":          {"", nil, "A simulated cloud on this machine, and the tool", "", 0},
		"EmptyListAsJSON":  {"lb list -o json", nil, "{\n  \"items\": []\n}\n", "", 0},
		"Completion":       {"completion bash", nil, "# bash completion V2 for simcloud", "", 0},
		"Version":          {"--version", nil, "simcloud ", "", 0},
		"CommandMistyped":  {"lst -o json", nil, "", "simcloud: unknown command \"lst\" for \"simcloud\"; did you mean lb or list?\n", 1},
		"NoCloud":          {"list --server 127.0.0.1:1", nil, "", "simcloud: no simulated cloud at http://127.0.0.1:1: start one with `simcloud serve`, or name one with --server or SIMCLOUD_SERVER\n", 1},
		"AnotherServer":    {"list --server " + other.URL, nil, "", "simcloud: the cloud answered 404: " + otherHost + " does not answer as a simulated cloud does\n", 1},
		"APage":            {"list --server " + page.URL, nil, "", "simcloud: GET \"" + page.URL + "/operator/v1/instances\": the answer is not that of a simulated cloud: ", 1},
		"HTTPS":            {"list --server https://" + host, nil, "", "simcloud: --server: the cloud does not serve https; begin the URL with http: ", 1},
		"FullDisk":         {"list", fullDisk, "", "simcloud: write /dev/stdout: no space left on device\n", 1},
		"FullDiskAndJSON":  {"list -o json", fullDisk, "", "simcloud: write /dev/stdout: no space left on device\n", 1},
		"NobodyReads":      {"list", unreadPipe, "", "", -1},
		"PortInUse":        {"serve --listen " + host, nil, "", "simcloud: --listen: something listens at " + host + " already, perhaps another simulated cloud; 127.0.0.1:0 is a free port\n", 1},
		"NoFolderForState": {"serve --listen 127.0.0.1:0 --state-file no/cloud.json", nil, "", "simcloud: --state-file: there is no folder \"no\"; create it, or choose another file\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, strings.Fields(row.line)...)
			var out, err strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &err
			if row.to != nil {
				file := row.to(t)
				defer func() { _ = file.Close() }()
				cmd.Stdout = file
			}
			_ = cmd.Run() // the error is only the exit code, which is read below
			if code := cmd.ProcessState.ExitCode(); code != row.code {
				t.Errorf("got exit code %d, want %d", code, row.code)
			}
			for stream, texts := range map[string][2]string{"output": {out.String(), row.out}, "errors": {err.String(), row.err}} {
				if got, want := texts[0], texts[1]; !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("%s: got %q, want %q", stream, got, want)
				}
			}
			if strings.Count(err.String(), "\n") > 1 {
				t.Errorf("want one line: %s", err.String())
			}
			if files, err := os.ReadDir(cmd.Dir); err != nil || len(files) > 0 {
				t.Errorf("it has written %v, %v", files, err)
			}
		})
	}
	if d := cmp.Diff(before, run(t, "list", "-o", "json")); d != "" {
		t.Errorf("the cloud has changed (-before +after):\n%s", d)
	}
}

// fullDisk opens a file to which nothing can be written.
func fullDisk(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// unreadPipe returns a pipe whose other end is closed.
func unreadPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err == nil {
		err = reader.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return writer
}

// TestInterrupted interrupts a command whose call hangs, and one that serves a cloud.
func TestInterrupted(t *testing.T) {
	arrived := make(chan struct{}, 1)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer hanging.Close()
	for name, row := range map[string]struct {
		args    []string
		started func(out io.Reader) error
		err     string
		code    int
	}{
		"CallHangs": {[]string{"list", "--server", hanging.URL}, func(io.Reader) error {
			select {
			case <-arrived:
				return nil
			case <-time.After(time.Minute):
				return errors.New("the call has not arrived within a minute")
			}
		}, "simcloud: Get \"" + hanging.URL + "/operator/v1/instances\": interrupt signal received\n", 1},
		"CloudEnds": {[]string{"serve", "--listen", "127.0.0.1:0"}, func(out io.Reader) error {
			_, err := fmt.Fscanln(out, new(string), new(string), new(string), new(string))
			return err
		}, "simcloud: a browser at http://127.0.0.1:", 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, row.args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := row.started(out); err != nil {
				t.Error(err)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			rest, err := io.ReadAll(out)
			_ = cmd.Wait() // the error is only the exit code
			if code := cmd.ProcessState.ExitCode(); code != row.code || len(rest) > 0 || err != nil {
				t.Errorf("got exit code %d, output %q, error %v; want %d and none", code, rest, err, row.code)
			}
			if got := stderr.String(); !strings.HasPrefix(got, row.err) || strings.Count(got, "\n") != 1 {
				t.Errorf("got %q, want %q", got, row.err)
			}
		})
	}
}

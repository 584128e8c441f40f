package ccm_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/ccm"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// asDaemon is an environment variable. If it is set, the test binary runs as a daemon.
// With the value "program", the daemon has the options that the function program
// returns. Any other value says what the provider does in Initialize.
const asDaemon = "FAIRLEAD_TEST_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) == "program" {
		code := ccm.Run(program())
		fmt.Println("exit code", code)
		os.Exit(code)
	}
	if does := os.Getenv(asDaemon); does != "" {
		factory := func(config io.Reader) (cloudprovider.Interface, error) { return newCloud(does, config) }
		cloudprovider.RegisterCloudProvider("test", factory)
		cloudprovider.RegisterCloudProvider("once", quirks.WorksOnce(factory))
		ccm.Main()
	}
	os.Exit(m.Run())
}

// newCloud refuses the configuration "wrong".
func newCloud(does string, config io.Reader) (*cloud, error) {
	if config != nil {
		text, err := io.ReadAll(config)
		if err != nil || string(text) == "wrong" {
			return nil, fmt.Errorf("no configuration: %q, error %w", text, err)
		}
	}
	return &cloud{does: does}, nil
}

type cloud struct {
	cloudprovider.Interface
	does string
}

func (*cloud) HasClusterID() bool { return true }

func (*cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

func (*cloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (*cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (*cloud) Routes() (cloudprovider.Routes, bool)             { return nil, false }

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {
	fmt.Println("initialising")
	switch c.does {
	case "hang":
		select {}
	case "panic":
		panic("broken")
	}
}

// start starts a daemon that leads without an election and without an API server.
func start(t *testing.T, does string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--leader-elect=false", "--secure-port=0", "--master=http://127.0.0.1:1")...)
	cmd.Env = append(os.Environ(), asDaemon+"="+does)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(output)
}

func TestEndOfTheProcess(t *testing.T) {
	for _, tc := range []struct {
		name string
		does string
		// The test sends these signals in order. After each signal, it waits until
		// the daemon logs that it stops, or until the process ends.
		signals []syscall.Signal
		want    int // exit code
	}{
		{"TerminatedEndsWell", "return", []syscall.Signal{syscall.SIGTERM}, 0},
		{"InterruptedEndsWell", "return", []syscall.Signal{syscall.SIGINT}, 0},
		{"SecondSignalEndsAtOnce", "hang", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 1},
		{"FailureIsAnError", "panic", nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd, lines := start(t, tc.does, "--cloud-provider=test")
			skipTo(lines, "initialising")
			for _, signal := range tc.signals {
				// On a busy machine, the process may have ended before the second signal.
				if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				skipTo(lines, "Stopping")
			}
			if skipTo(lines, "still in flight") {
				t.Error("the daemon waited for the provider that hangs")
			}
			_ = cmd.Wait() // its error is the exit code
			if got := cmd.ProcessState.ExitCode(); got != tc.want {
				t.Errorf("got exit code %d, want %d", got, tc.want)
			}
		})
	}
}

// raceNotice is what component-base logs in a binary with the race detector.
var raceNotice = regexp.MustCompile(`(?m)^I.*Data race detection enabled\n`)

func TestWrongCommandLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		arg  string
		want []string // start and end of stderr
	}{
		{"UnknownFlag", "--nope", []string{"unknown flag: --nope\n", "\nAll flags: cloud-controller-manager flags\n"}},
		{"UnknownGate", "--feature-gates=Nope=true", []string{
			"invalid argument \"Nope=true\" for \"--feature-gates\" flag: unrecognized feature gate: Nope\n",
			"\nAll flags: cloud-controller-manager flags\n",
		}},
		{"Argument", "foo", []string{"\"cloud-controller-manager\" does not take any arguments, got [\"foo\"]\n", "\n"}},
		{"NoProvider", "--v=0", []string{"--cloud-provider cannot be empty; name a provider that this program links", "as in --cloud-provider=mycloud\n"}},
		{"LogIsJSON", "--logging-format=json", []string{"{", "as in --cloud-provider=mycloud\"}]}\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], tc.arg)
			cmd.Env = append(os.Environ(), asDaemon+"=return")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			_ = cmd.Run() // its error is the exit code
			if got := cmd.ProcessState.ExitCode(); got != 1 {
				t.Errorf("got exit code %d, want 1", got)
			}
			if got := raceNotice.ReplaceAllString(stderr.String(), ""); !strings.HasPrefix(got, tc.want[0]) || !strings.HasSuffix(got, tc.want[1]) {
				t.Errorf("got %s\nwant %q", got, tc.want)
			} else if errors := strings.Count(got, strings.Trim(tc.want[0], "{")); tc.want[0] != "{" && errors != 1 {
				t.Errorf("it is printed %d times: %s", errors, got)
			}
		})
	}
}

// skipTo reads up to the first line that contains text. It reports whether
// there is such a line.
func skipTo(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

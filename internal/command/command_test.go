package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		out  string // part of stdout
		want string // part of the error
	}{
		{"NoArguments", "foo", "", `"cloud-controller-manager" does not take any arguments, got ["foo"]`},
		{"MistypedCommand", "polcy", "", `"cloud-controller-manager" does not take any arguments, got ["polcy"]; did you mean policy?`},
		{"ValueOfABoolNeedsAnEqualsSign", "--node-deletion false", "", `got ["false"]; a flag that is true or false needs =, as in --node-deletion=false`},
		{"MistypedFlag", "--cluster-nam=x", "", "unknown flag: --cluster-nam; did you mean --cluster-name?\nAll flags: cloud-controller-manager flags"},
		{"EmptyArgumentIsNone", " --version", "cloud-controller-manager ", ""},
		{"RawVersion", "--version=raw", "GitVersion:", ""},
		{"UpstreamsHeadings", "flags", "Cloud-node-controller flags:", ""},
		{"UnknownFlag", "--nope", "", "unknown flag: --nope\nAll flags: cloud-controller-manager flags"},
		{"ValidationError", "", "", "--cloud-provider cannot be empty"},
		{"UnknownProvider", "--cloud-provider=nowhere --master=http://127.0.0.1:1", "", `"nowhere" is not linked into this binary`},
		{"UnknownProviderComesFirst", "--cloud-provider=nowhere", "", `--cloud-provider: "nowhere" is not linked into this binary`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := New(plain)
			var stdout, stderr bytes.Buffer
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true // as cli.Run does
			cmd.SetArgs(strings.Split(tc.args, " "))
			err := cmd.ExecuteContext(t.Context())
			var got string
			if err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got error %q, want %q", got, tc.want)
			}
			if !strings.Contains(stdout.String(), tc.out) {
				t.Errorf("got output %q, want %q", stdout.String(), tc.out)
			}
		})
	}
}

// once is the value of a flag that may be given only once.
type once struct{ text string }

func (o *once) String() string { return o.text }
func (o *once) Type() string   { return "zone" }

func (o *once) Set(text string) error {
	if o.text != "" || text == "" {
		return fmt.Errorf("the zone was %q, and is to be %q", o.text, text)
	}
	o.text = text
	return nil
}

func TestAllThatIsWrongAtOnce(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"FlagsAndValues":                {"--nope --controllers=foo --v=x", "unknown flag: --nope\n--controllers: \"foo\" is not in the list of known controllers: " + strings.Join(daemon.New(plain).ControllerNames(), ", ") + "\ninvalid argument \"x\" for \"-v, --v\" flag: "},
		"FlagBeforeIsNotSetAgain":       {"--acme-zone=north --nope --cluster-nam=x", "unknown flag: --nope\nunknown flag: --cluster-nam; did you mean --cluster-name?\nAll flags: "},
		"FlagAfterwardsIsTried":         {"--nope --acme-zone=", "unknown flag: --nope\ninvalid argument \"\" for \"--acme-zone\" flag: the zone was \"\", and is to be \"\"\nAll flags: "},
		"FlagsOfACommandAreNotCompared": {"--shado plan --node=x", "unknown flag: --shado; did you mean --shadow?\nAll flags: "},
	} {
		t.Run(name, func(t *testing.T) {
			own := plain
			own.Flags = cliflag.NamedFlagSets{}
			own.Flags.FlagSet("acme").Var(&once{}, "acme-zone", "The zone.")
			p := daemon.New(own)
			args := append([]string{"--cloud-provider=test"}, strings.Fields(tc.args)...)
			p.Self.Args = append([]string{"ccm"}, args...)
			cmd := of(p)
			cmd.SetErr(io.Discard)
			cmd.SilenceErrors = true
			cmd.SetArgs(args)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

// A process that only tries a new configuration serves nothing, so it does not read
// the files of a server.
func TestTrialReadsNoFileOfAServer(t *testing.T) {
	t.Setenv("FAIRLEAD_TRY_PROVIDER", "key")
	cmd := NewMain(plain)
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors = true
	cmd.SetArgs([]string{"--cloud-provider=test", "--master=http://127.0.0.1:1", "--tls-cert-file=/nowhere", "--tls-private-key-file=/nowhere"})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(stdout.String(), "made") {
		t.Errorf("got %v, output %q", err, stdout.String())
	}
}

func TestValidationErrorIsPrintedInWords(t *testing.T) {
	cmd := New(plain)
	var stderr bytes.Buffer
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--controllers=foo", "--cloud-provider=test"})
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("an unknown controller was accepted")
	}
	PrintError(cmd, err)
	if diff := cmp.Diff("--controllers: \"foo\" is not in the list of known controllers: "+strings.Join(daemon.New(plain).ControllerNames(), ", ")+"\n", stderr.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

// The help is short and narrow, because people also read it through pipes and in logs.
func TestHelp(t *testing.T) {
	const longest = 80 // lines
	for line, first := range map[string]string{"--help": "cloud-provider", "flags": "contention-profiling"} {
		t.Run(line, func(t *testing.T) {
			cmd := New(plain)
			var stdout bytes.Buffer
			cmd.SetOut(&stdout)
			cmd.SetArgs([]string{line})
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(stdout.String(), "\n"); line == "--help" && n > longest {
				t.Errorf("%d lines, want at most %d", n, longest)
			}
			if _, flags, _ := strings.Cut(stdout.String(), " flags:\n\n"); !strings.HasPrefix(strings.TrimSpace(flags), "--"+first) {
				t.Errorf("the first flag is not --%s:\n%s", first, flags)
			}
			for line := range strings.Lines(stdout.String()) {
				// Long words are not broken, and some of the library's flags have long
				// defaults.
				if words := strings.Fields(line); len(strings.TrimRight(line, "\n")) > 100 && len(words) > 4 {
					t.Errorf("%d columns: %s", len(line), line)
				}
			}
		})
	}
}

func TestUsualFlagsExist(t *testing.T) {
	for _, name := range usual {
		if New(plain).Flags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

func TestEachFlagHasAHelpTextOfItsOwn(t *testing.T) {
	flags := map[string]string{}
	New(plain).Flags().VisitAll(func(f *pflag.Flag) {
		if other, known := flags[f.Usage]; known {
			t.Errorf("--%s and --%s have one help text", other, f.Name)
		}
		flags[f.Usage] = f.Name
	})
}

func TestLines(t *testing.T) {
	list := utilerrors.NewAggregate([]error{errors.New("a"), errors.New("b")})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"One":         {errors.New("a"), "[a]"},
		"List":        {list, "[a b]"},
		"ListOfAPart": {fmt.Errorf("--kubeconfig: %w", list), "[--kubeconfig: [a, b]]"},
	} {
		if got := fmt.Sprint(lines(tc.err)); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestShorthandOfALinkedPackageThatIsTakenIsAnError(t *testing.T) {
	former := pflag.CommandLine
	defer func() { pflag.CommandLine = former }()
	pflag.CommandLine = pflag.NewFlagSet("", pflag.ContinueOnError)
	pflag.BoolP("acme-debug", "v", false, "Log more.")
	cmd := New(plain)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--cloud-provider=test", "--acme-debug"})
	want := "the program's flag --acme-debug has the shorthand -v, which --v already has; give it another shorthand or none"
	if err := cmd.ExecuteContext(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestVersionOfAProgram(t *testing.T) {
	program := plain
	program.Version = "v1.2.3"
	cmd := New(program)
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stdout.String(), "cloud-controller-manager v1.2.3 (Kubernetes libraries v") {
		t.Error(stdout.String())
	}
}

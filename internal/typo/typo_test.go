package typo

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestFlag(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"module", "mode", "node-monitor-period", "secret", "dir"} {
		flags.String(name, "", "")
	}
	flags.Lookup("secret").Hidden = true
	for arg, want := range map[string]string{
		"--modul":               "unknown flag: --modul; did you mean --module?",
		"--moe":                 "unknown flag: --moe; did you mean --mode?",
		"--node-monitr-periods": "unknown flag: --node-monitr-periods; did you mean --node-monitor-period?",
		"--secre":               "unknown flag: --secre",
		"--di":                  "unknown flag: --di; did you mean --dir?",
		"--x":                   "unknown flag: --x",
		"--nothing-like-it":     "unknown flag: --nothing-like-it",
		"-q":                    "unknown shorthand flag: 'q' in -q",
	} {
		if err := Flag(flags.Parse([]string{arg}), flags); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", arg, err, want)
		}
	}
	other := errors.New("x")
	if got := Flag(other, flags); got != other { //nolint:errorlint // it must be the same value
		t.Errorf("another error: %v", got)
	}
}

func TestFlagError(t *testing.T) {
	for line, want := range map[string]string{
		"lst --output=json":       `unknown command "lst" for "cloud"; did you mean list?`,
		"lst -o json":             `unknown command "lst" for "cloud"; did you mean list?`,
		"list --outpt=json":       "unknown flag: --outpt; did you mean --output?; cloud list --help says more",
		"list a b --outpt=json":   "unknown flag: --outpt; did you mean --output?; cloud list --help says more",
		"list --output":           "flag needs an argument: --output",
		"--outpt=json list":       "unknown flag: --outpt; did you mean --output?; cloud list --help says more",
		"--nothing-like-it flood": "unknown flag: --nothing-like-it; cloud --help says more",
	} {
		t.Run(line, func(t *testing.T) {
			list := &cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}}
			list.Flags().StringP("output", "o", "", "")
			cloud := &cobra.Command{Use: "cloud", Args: NoArguments, RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
			cloud.SetFlagErrorFunc(FlagError)
			cloud.AddCommand(list)
			cloud.SetArgs(strings.Fields(line))
			if err := cloud.ExecuteContext(t.Context()); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestNoArguments(t *testing.T) {
	parent := &cobra.Command{Use: "lb"}
	parent.AddCommand(&cobra.Command{Use: "create", Run: func(*cobra.Command, []string) {}}, &cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}})
	for arg, want := range map[string]string{
		"creat": `unknown command "creat" for "lb"; did you mean create?`,
		"lst":   `unknown command "lst" for "lb"; did you mean list?`,
		"flood": `unknown command "flood" for "lb"`,
	} {
		if err := NoArguments(parent, []string{arg}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", arg, err, want)
		}
	}
	if err := NoArguments(parent, nil); err != nil {
		t.Error(err)
	}
}

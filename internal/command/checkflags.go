package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

const checkFlagsHelp = `Say what the daemon would do with each argument of another daemon's command line.

For each argument it prints one of these:

  used             the daemon reads it
  deprecated       the daemon reads it, and should not have to
  changes nothing  it is accepted, so that manifests keep working; the reason follows
  unknown          the daemon does not start with it; upstream does not either
  refused          the daemon does not start with this value, and its message

The first word after -- may be the name of the program. The files that flags name
need not exist. No cluster is asked, and the provider is not made. CLASSIFIED
stands for values that are secret, as in /flagz. The exit code is 0 if the daemon
starts with these flags, and 1 if not.`

// checkFlags has the settings and flags of the command "check-flags".
type checkFlags struct {
	settings  *settings.Settings
	manifest  string
	container string
	output    string
}

// checkFlagsCommand returns the command "check-flags". The caller must have called
// s.AddFlags.
func checkFlagsCommand(s *settings.Settings) *cobra.Command {
	c := checkFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "check-flags -- COMMAND LINE",
		Short: "Say what the daemon would do with the command line of another daemon",
		Long:  checkFlagsHelp,
		Example: `  check-flags -- --cloud-provider=acme --cloud-config=/etc/acme.conf --logtostderr
  kubectl -n kube-system get deployment acme-ccm -o yaml | check-flags -f -`,
		Args:              onlyAfterDashes,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.InOrStdin(), cmd.OutOrStdout(), args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.manifest, "filename", "f", "", "file with the manifest of a Pod, Deployment, DaemonSet or StatefulSet, whose command line is checked; - for standard input")
	f.StringVar(&c.container, "container", "", "name of the container, if there are several")
	f.StringVarP(&c.output, "output", "o", "text", "output format: text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // The flag exists.
	// By default, cobra would use the daemon's help, which lists the daemon's flags.
	cmd.SetHelpFunc(new(cobra.Command).HelpFunc())
	cmd.SetUsageFunc(new(cobra.Command).UsageFunc())
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s", err, afterDashes(cmd))
	})
	return cmd
}

// onlyAfterDashes refuses words before "--", because they are not part of the command
// line to check. If they were accepted, the first of them would be mistaken for the
// name of the program.
func onlyAfterDashes(cmd *cobra.Command, args []string) error {
	if n := cmd.ArgsLenAtDash(); len(args) > 0 && n != 0 {
		return fmt.Errorf("%q is refused; %s", args[0], afterDashes(cmd))
	}
	return nil
}

func afterDashes(cmd *cobra.Command) string {
	return fmt.Sprintf("the command line to check comes after --, as in `%s -- --cloud-provider=acme`", cmd.CommandPath())
}

// errDoesNotStart is the error of a command line that the daemon refuses.
var errDoesNotStart = errors.New("the daemon does not start with these flags")

func (c checkFlags) run(in io.Reader, out io.Writer, args []string) error {
	switch {
	case c.output != "text" && c.output != "json":
		return fmt.Errorf("--output: %q is neither text nor json", c.output)
	case c.manifest != "" && len(args) > 0:
		return errors.New("give either a command line or --filename")
	case c.manifest != "":
		text, err := readManifest(c.manifest, in)
		if err != nil {
			return fmt.Errorf("--filename: %w", err)
		}
		if args, err = commandLine(text, c.container); err != nil {
			return fmt.Errorf("--filename: %w", err)
		}
	case len(args) == 0:
		return errors.New("no command line: give it after --, or the file of a manifest with -f")
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // the program
	}
	return c.show(printable.Writer(out), c.settings.Judge(args))
}

func readManifest(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file) //nolint:gosec // a flag names it
}

func (c checkFlags) show(out io.Writer, all []settings.Judgement) error {
	starts := true
	for _, j := range all {
		starts = starts && j.Starts()
	}
	if c.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(struct {
			Starts    bool                 `json:"starts"`
			Arguments []settings.Judgement `json:"arguments"`
		}{starts, all}); err != nil {
			return err
		}
	} else if err := printJudgements(out, all); err != nil {
		return err
	}
	if !starts {
		return errDoesNotStart
	}
	return nil
}

func printJudgements(out io.Writer, all []settings.Judgement) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ARGUMENT\tVERDICT\tWHY") // Writing to a strings.Builder never fails.
	for _, j := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", oneLine(j.Argument), j.Verdict, oneLine(j.Why))
	}
	_ = w.Flush()
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// oneLine returns the text for a cell of the table: one line, with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/dryrun"
	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/internal/typo"
)

const long = `The cloud controller manager ties a Kubernetes cluster to the cloud under it.
It initialises nodes and keeps them in step with their instances, removes those whose
machines are gone, makes load balancers for Services, and routes for pods. The provider
that is linked into this binary calls the cloud.`

// New returns a command that runs the program's daemon until the command's context
// ends.
func New(o daemon.Options) *cobra.Command { return of(daemon.New(o)) }

// NewMain returns the same command as New, for a process that runs nothing
// else. To try a changed configuration, the process starts its own program a second
// time, with the same arguments. In that second process, the command only makes the
// provider, prints the result, and returns.
func NewMain(o daemon.Options) *cobra.Command {
	p := daemon.New(o)
	p.Self = provider.NewSelf()
	cmd := of(p)
	if run := cmd.RunE; p.Self.Tries() {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			// If this line is not printed, the changed configuration is refused.
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), p.Self.Answer(err))
			return err
		}
	}
	return cmd
}

// of returns the command of a program.
func of(p *daemon.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:  p.Options.Name,
		Long: long,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.Settings.ApplyDefaults()
			if done, err := p.Settings.Global.PrintVersion(cmd.OutOrStdout()); done {
				return err
			}
			// Logging is configured first, so that the flags apply to all later records.
			logging := p.Settings.Global.ApplyLogging()
			if logging == nil {
				p.Settings.LogFlags(klog.FromContext(cmd.Context()))
			}
			validate := p.Validate
			if p.Self.Tries() {
				validate = p.ValidateUnserved
			}
			err := validate() // The error also names wrong flags of logging.
			if err == nil {
				err = logging
			}
			if err == nil {
				err = show(run(withPrintableLog(cmd.Context()), p, cmd.OutOrStdout()))
			}
			if IsPlannedRestart(err) {
				klog.InfoS("Ended as planned, to be started again", "why", err)
			}
			return err
		},
	}
	// The usage text has two hundred lines and would hide the error.
	cmd.SilenceUsage = true
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = settings.Explain(err, cmd.Flags())
		if !cmd.HasParent() {
			err = withAllWrong(p, cmd, err)
		}
		return fmt.Errorf("%w\nAll flags: %s", err, allFlags(cmd))
	})
	sections := p.Settings.AddFlags(cmd.Flags())
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	setHelp(p, cmd, sections)
	cmd.AddCommand(policyCommand(p, cmd), planCommand(p, cmd), checkFlagsCommand(p.Settings))
	completeNames(p, cmd)
	typo.Completion(cmd)
	typo.Help(cmd)
	return cmd
}

// run runs the daemon. With --shadow, the daemon only looks, and prints its report at
// the end.
func run(ctx context.Context, p *daemon.Program, out io.Writer) error {
	if p.Settings.Shadow.On {
		dryrun.Shadow(ctx, p, out)
	}
	return p.Run(ctx)
}

// completeNames lets the shell complete names of controllers and webhooks instead of
// files.
func completeNames(p *daemon.Program, cmd *cobra.Command) {
	var webhooks []string
	for _, w := range p.Options.Webhooks {
		webhooks = append(webhooks, w.Name)
	}
	for flag, names := range map[string][]string{"controllers": p.ControllerNames(), "webhooks": webhooks} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // The flags exist.
	}
}

// withAllWrong adds all other errors of the command line to its first error, each on
// its own line. In two cases it returns only the first error. If this process also runs
// other things (see NewMain), the whole command line is not known. If a word is the
// name of a sub-command, the flags of that sub-command are not known.
func withAllWrong(p *daemon.Program, cmd *cobra.Command, first error) error {
	isCommand := func(word string) bool {
		return slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	if len(p.Self.Args) == 0 || slices.ContainsFunc(p.Self.Args[1:], isCommand) {
		return first
	}
	again := daemon.New(p.Options).Settings // The flags have no values yet, apart from the program's own flags.
	again.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	text := []string{first.Error()}
	for _, j := range again.Judge(p.Self.Args[1:]) {
		if !j.Starts() && j.IsOfFlag() && !slices.Contains(text, j.Why) && !isAbout(first, j.Why) {
			text = append(text, j.Why)
		}
	}
	if len(text) == 1 {
		return first
	}
	return fmt.Errorf("%w\n%s", first, strings.Join(text[1:], "\n"))
}

// isAbout reports whether text is an error about the same flag and the same value as
// err. It does not compare the causes, because they can differ: if several feature
// gates are wrong, the library names a random one.
func isAbout(err error, text string) bool {
	if _, invalid := errors.AsType[*pflag.InvalidValueError](err); !invalid {
		return false
	}
	value, _, _ := strings.Cut(err.Error(), " flag: ") // The cause follows.
	return strings.HasPrefix(text, value+" flag: ")
}

// columnsOf returns the width of the help in columns. It is the width of the
// terminal, but at most 100. For a pipe it is 100.
func columnsOf(w io.Writer) int {
	const widest = 100
	if columns, _, err := term.TerminalSize(w); err == nil && columns > 0 {
		return min(columns, widest)
	}
	return widest
}

// PrintError prints the error with which a command has ended. If the log is JSON, it
// logs one record. Otherwise it prints each error of a list on its own line.
func PrintError(cmd *cobra.Command, err error) {
	if f := cmd.Flags().Lookup("logging-format"); f != nil && f.Value.String() == "json" {
		klog.ErrorS(err, "Command failed")
		klog.Flush()
		return
	}
	for _, line := range lines(err) {
		// The text of the line may come from the cloud.
		_, _ = fmt.Fprintln(printable.Writer(cmd.ErrOrStderr()), line)
	}
}

// IsPlannedRestart reports whether the command has ended in order to be started
// again. This happens if only a new process can use the provider's new
// configuration.
func IsPlannedRestart(err error) bool { return errors.Is(err, provider.ErrRotated) }

// ExitCode returns the exit code of a process whose command has returned the error.
// If the process has to be started again as planned, ExitCode returns the argument
// restart.
func ExitCode(err error, restart int) int {
	switch {
	case err == nil:
		return 0
	case IsPlannedRestart(err):
		return restart
	case errors.Is(err, errWouldChange):
		return wouldChangeCode
	default:
		return 1
	}
}

// EndedAsPlanned reports whether the command has ended without a failure. Then err
// need not be printed.
func EndedAsPlanned(err error) bool {
	return err == nil || IsPlannedRestart(err) || errors.Is(err, errWouldChange)
}

func noArguments(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg != "" {
			return fmt.Errorf("%q does not take any arguments, got %q%s", cmd.CommandPath(), args, meant(cmd, arg))
		}
	}
	return nil
}

// meant returns the suggestion at the end of an error about an argument: what the
// user probably meant. It is empty if there is no suggestion.
func meant(cmd *cobra.Command, arg string) string {
	if arg == "true" || arg == "false" {
		return "; a flag that is true or false needs =, as in --node-deletion=" + arg
	}
	if cmd.Flags().Lookup(arg) != nil {
		return fmt.Sprintf("; did you mean --%s?", arg)
	}
	return typo.Command(cmd, arg)
}

// lines returns the errors in err if err is a list of errors. A wrapped list counts
// as one error, because its wrapper says what the list is about.
func lines(err error) []error {
	if list, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // not the lists within
		return list.Errors()
	}
	return []error{err}
}

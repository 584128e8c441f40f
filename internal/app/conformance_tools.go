package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// isCheck reports whether there is a check with this ID.
func isCheck(id string) bool { return slices.Contains(checkIDs(), id) }

func keys(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

// conformanceListCommand returns the sub-command that prints all checks.
func (p *program) conformanceListCommand() *cobra.Command {
	output := "text"
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "Print all checks",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
		SilenceErrors:     true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "text":
				return conformance.WriteList(cmd.OutOrStdout())
			case "markdown":
				_, err := fmt.Fprint(cmd.OutOrStdout(), conformance.Page())
				return err
			}
			return fmt.Errorf("--output: %q is not text or markdown", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "Format: text or markdown.")
	return ownHelp(cmd)
}

// conformanceCompareCommand returns the sub-command that compares two reports.
func (p *program) conformanceCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "compare OLD NEW",
		Short:         "Print the checks that have another result in the second report; end with code 1 if one is worse",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("compare needs two files with reports: the older one, and the newer one")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err1 := conformance.ReadReport(args[0])
			after, err2 := conformance.ReadReport(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			changes := conformance.Compare(before, after)
			if err := conformance.WriteChanges(printable.Writer(cmd.OutOrStdout()), changes); err != nil {
				return err
			}
			if slices.ContainsFunc(changes, conformance.Change.Worse) {
				return ended{failedCode, errors.New("the second report is worse")}
			}
			return nil
		},
	}
	return ownHelp(cmd)
}

const cleanupHelp = `Removes what an interrupted run has left in the cloud: load balancers and routes of the
provider by the provider, and by --world what only it creates, such as machines and
reserved addresses. It removes only what --ledger lists and what it finds by the names
in there, so it may be repeated. What cannot be removed stays listed. The ledger of
another account is refused.

Exit codes: 0 if nothing is left; 1 if something may be; 2 if it cannot be tried.`

// conformanceCleanupCommand returns the sub-command that removes the remains of a
// run.
func (p *program) conformanceCleanupCommand(daemon *cobra.Command) *cobra.Command {
	f := conformanceFlags{allowWrites: true}
	cmd := &cobra.Command{
		Use:               "cleanup",
		Short:             "Remove what an interrupted run has left in the cloud",
		Long:              cleanupHelp,
		Example:           "  " + p.options.Name + " conformance cleanup --cloud-provider=NAME --cloud-config=cloud.conf --world=./world --ledger=made.jsonl",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
		SilenceErrors:     true,
	}
	flag := func(name string) string { return flagBeside(daemon, "conformance", name) }
	f.typed = flag
	cmd.Flags().StringVar(&f.ledger, flag("ledger"), "", "File that lists what was created. Must be set.")
	cmd.Flags().StringVar(&f.world, flag("world"), "", "Program that creates machines in the cloud and sets faults (a world). Only it can remove what it has created.")
	cmd.Flags().StringVar(&f.account, flag("account"), "", accountUsage)
	addDaemonFlags(cmd, daemon, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.cleanUp(cmd, &f) }
	return cmd
}

func (p *program) cleanUp(cmd *cobra.Command, f *conformanceFlags) error {
	var invalid error
	if f.ledger == "" {
		invalid = fmt.Errorf("%s must be set", f.typed.flag("ledger"))
	}
	ctx, err := p.beginConformance(cmd, invalid)
	if err != nil {
		return err
	}
	target, err := p.conformanceTarget(ctx, f)
	if err != nil {
		return err
	}
	ledger, err := conformance.ExistingLedger(f.ledger, target.Name)
	if err != nil {
		return fmt.Errorf("%s: %w", f.typed.flag("ledger"), err)
	}
	err = warnOf(cmd.ErrOrStderr(), ledger)
	if err == nil {
		err = p.removeLeft(ctx, cmd, target, ledger)
	}
	return errors.Join(err, ledger.Close())
}

func (p *program) removeLeft(ctx context.Context, cmd *cobra.Command, target conformance.Target, ledger *conformance.FileLedger) error {
	out := printable.Writer(cmd.OutOrStdout())
	err := conformance.Cleanup(ctx, target, ledger, func(line string) { _, _ = fmt.Fprintln(out, line) })
	if other := orOtherAccount(err, target); other != err { //nolint:errorlint // orOtherAccount returns err itself or a new error
		return other
	}
	if err != nil {
		return ended{failedCode, fmt.Errorf("not everything could be removed:\n%w", err)}
	}
	_, err = fmt.Fprintln(out, "Nothing is left.")
	return err
}

// ownHelp gives a command a help text without the flags of the daemon, because the
// command does not have them.
func ownHelp(cmd *cobra.Command) *cobra.Command {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		cmd.Printf("%s\n\nUsage:\n  %s\n\nFlags:\n%s", cmd.Short, cmd.UseLine(), cmd.LocalFlags().FlagUsages())
	})
	return cmd
}

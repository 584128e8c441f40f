package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

const examples = `  # What would it do? It changes nothing, and ends by itself.
  %[1]s plan --cloud-provider=NAME --cloud-config=FILE --kubeconfig=FILE

  # Which flags of the daemon that runs now does it take?
  %[1]s check-flags -- --cloud-provider=NAME --allocate-node-cidrs

  # Run beside the daemon that runs now, and only look.
  %[1]s --shadow --cloud-provider=NAME --cloud-config=FILE`

// usual are the flags that most manifests have, most of all first. The help shows the first
// sentence about each of them.
var usual = []string{
	"cloud-provider", "cloud-config", "cluster-name", "controllers", "kubeconfig", "leader-elect", "use-service-account-credentials", "v",
	"configure-cloud-routes", "allocate-node-cidrs", "cluster-cidr", "concurrent-service-syncs", "load-balancer-class", "service-backends",
	"node-deletion", "cloud-api-budget", "feature-gates", "secure-port", "shadow",
}

// setHelp makes the help of the daemon short. The sub-command "flags" prints all flags.
func setHelp(p *daemon.Program, cmd *cobra.Command, sections cliflag.NamedFlagSets) {
	cmd.Example = fmt.Sprintf(examples, cmd.Name())
	ofOthers := new(cobra.Command) // Sub-commands without a help of their own get cobra's.
	cmd.SetUsageFunc(func(of *cobra.Command) error {
		if of.HasParent() {
			return ofOthers.UsageFunc()(of)
		}
		printUsage(of.OutOrStderr(), p, cmd)
		return nil
	})
	cmd.SetHelpFunc(func(of *cobra.Command, args []string) {
		if of.HasParent() {
			ofOthers.HelpFunc()(of, args)
			return
		}
		_, _ = fmt.Fprintf(of.OutOrStdout(), "%s\n\n", of.Long)
		printUsage(of.OutOrStdout(), p, cmd)
	})
	cmd.AddCommand(flagsCommand(sections))
}

func printUsage(w io.Writer, p *daemon.Program, cmd *cobra.Command) {
	print := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	print("Usage:\n  %s\n\nCommands:\n", cmd.UseLine())
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			print("  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
	print("\nExamples:\n%s\n\nUsual flags:\n\n%s", cmd.Example, usualFlags(cmd.Flags()).FlagUsagesWrapped(columnsOf(w)))
	cliflag.PrintSections(w, p.Options.Flags, columnsOf(w))
	print("\nAll flags: %s\n", allFlags(cmd))
}

// allFlags returns the command line that prints all flags of a command.
func allFlags(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.CommandPath() + " --help"
	}
	return cmd.CommandPath() + " flags"
}

// usualFlags returns the usual flags, each with the first sentence about it.
func usualFlags(all *pflag.FlagSet) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	for _, name := range usual {
		if f := all.Lookup(name); f != nil {
			brief := *f
			brief.Usage, _, _ = strings.Cut(f.Usage, ". ")
			brief.Usage = strings.TrimSuffix(brief.Usage, ".") + "."
			fs.AddFlag(&brief)
		}
	}
	return fs
}

func flagsCommand(all cliflag.NamedFlagSets) *cobra.Command {
	print := func(cmd *cobra.Command, _ []string) {
		cliflag.PrintSections(cmd.OutOrStdout(), all, columnsOf(cmd.OutOrStdout()))
	}
	cmd := &cobra.Command{Use: "flags", Short: "Print all flags, with their defaults", Args: noArguments, Run: print}
	cmd.SetHelpFunc(print)
	return cmd
}

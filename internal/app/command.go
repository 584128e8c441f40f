package app

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
)

// managerName is upstream's name of the daemon: of its lease, its certificate,
// its events and its user agent, whatever the binary is called.
const managerName = "cloud-controller-manager"

const long = `The cloud controller manager ties a Kubernetes cluster to the cloud under it.
It initialises nodes and keeps them in step with their instances. The provider
that is linked into this binary speaks to the cloud.`

// NewCommand returns the daemon as a command with the given name. It runs until
// the command's context ends.
func NewCommand(name string) *cobra.Command {
	return newCommand(name, controllers)
}

func newCommand(name string, known table) *cobra.Command {
	o := newOptions(name, known)
	cmd := &cobra.Command{
		Use:  name,
		Long: long,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if done, err := o.global.version.print(cmd.OutOrStdout(), name); done {
				return err
			}
			// First, so that everything else is logged as the flags say.
			err := o.global.applyLogging()
			if err == nil {
				cliflag.PrintFlags(cmd.Flags())
				err = o.validate(cmd.Flags())
			}
			if err == nil {
				err = run(cmd.Context(), o)
			}
			if err != nil {
				// In words, beside the log record that cli.Run writes.
				cmd.PrintErrln(err)
			}
			return err
		},
	}
	sections := o.flags()
	for _, fs := range sections.FlagSets {
		cmd.Flags().AddFlagSet(fs)
	}
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout()) // 0, unwrapped, where there is no terminal
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg != "" {
			return fmt.Errorf("%q does not take any arguments, got %q", cmd.CommandPath(), args)
		}
	}
	return nil
}

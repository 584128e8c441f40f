package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/doctor"
	"github.com/fairlead-k8s/fairlead/internal/explain"
	"github.com/fairlead-k8s/fairlead/internal/linkcheck"
	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// newCommand returns the whole command.
func newCommand(v versions.Version) *cobra.Command {
	command := &cobra.Command{
		Use:   ownName,
		Short: "The companion of the daemon, for those who build and run one",
		Long: `The companion of the daemon, for those who build and run one.

Fairlead is a cloud-controller-manager. The daemon itself is
another program: cloud-controller-manager, or the one that you build with your
provider.`,
		Example: `  fairlead new acme --module github.com/acme/acme-cloud-controller-manager
  fairlead link-check .
  fairlead explain --waiting
  fairlead doctor
  fairlead completion bash`,
		Version:       v.Text,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
	}
	command.SetFlagErrorFunc(typo.FlagError)
	command.AddCommand(newNew(v), doctor.New(), explain.New(explain.AllReasons()), linkcheck.New(wantOne), newVersion())
	typo.Completion(command)
	typo.Help(command)
	return command
}

// newVersion returns the command that prints the same as --version.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              typo.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", c.Root().DisplayName(), c.Root().Version)
			return err
		},
	}
}

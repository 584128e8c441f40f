package main

import "github.com/spf13/cobra"

// newCommand returns the whole command.
func newCommand(v version) *cobra.Command {
	command := &cobra.Command{
		Use:   "fairlead",
		Short: "The companion of the daemon, for those who build and run one",
		Long: `The companion of the daemon, for those who build and run one.

Fairlead is a cloud-controller-manager for every cloud. The daemon itself is
another program: cloud-controller-manager, or the one that you build with your
provider.`,
		Example: `  fairlead new acme --module github.com/acme/acme-cloud-controller-manager
  fairlead completion bash`,
		Version:       v.text,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
	}
	command.SetVersionTemplate("fairlead {{.Version}}\n")
	command.AddCommand(newNew(v))
	return command
}

package main

import "github.com/spf13/cobra"

const defaultAddress = "127.0.0.1:7640"

// newCommand returns the whole command.
func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "simcloud",
		Short:         "A simulated cloud on this machine, and the tool to look into it and to break it",
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
	}
	command.AddCommand(newServe())
	return command
}

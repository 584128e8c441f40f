package main

import (
	"fmt"

	"github.com/spf13/cobra"
	kubernetes "k8s.io/component-base/version"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// The help text groups the commands by task.
const (
	groupCloud     = "cloud"
	groupInstances = "instances"
	groupNetwork   = "network"
	groupVolumes   = "volumes"
	groupFaults    = "faults"
)

// newCommand returns the whole command.
func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "simcloud",
		Short: "A simulated cloud on this machine, and the tool to inspect it and to make it fail",
		Long: `A simulated cloud on this machine, and the tool to inspect it and to make it fail.

"simcloud serve" runs the cloud. All other commands call a running cloud. They call
it as its operator: faults and the quota do not affect them, and they are not
counted. With --as customer, they are like the calls of any customer.`,
		Example: `  simcloud serve &
  simcloud create node-1 --zone sim-1a --label rack=r1
  simcloud list
  simcloud lb create web --listen 80:30080 --backend node-1
  simcloud lb show web
  simcloud route list
  simcloud fault set latency --latency 200ms --jitter 100ms
  simcloud calls`,
		Version:       versions.Own(kubernetes.Get().GitVersion).Text,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
		Args:          typo.NoArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.SetVersionTemplate("simcloud {{.Version}}\n")
	command.SetFlagErrorFunc(typo.FlagError)
	command.AddGroup(
		&cobra.Group{ID: groupCloud, Title: "The cloud:"},
		&cobra.Group{ID: groupInstances, Title: "Instances:"},
		&cobra.Group{ID: groupNetwork, Title: "Load balancers and routes:"},
		&cobra.Group{ID: groupVolumes, Title: "Volumes:"},
		&cobra.Group{ID: groupFaults, Title: "Faults and calls:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			command.AddCommand(c)
		}
	}
	var s session
	add(groupCloud, newServe())
	add(groupInstances, newList(&s), newShow(&s), newCreate(&s),
		newStart(&s), newStop(&s), newTerminate(&s),
		newResize(&s), newReaddress(&s), newRename(&s), newRelabel(&s))
	add(groupNetwork, newLoadBalancer(&s), newStaticIP(&s), newRoute(&s))
	add(groupVolumes, newVolume(&s))
	add(groupFaults, newFault(&s), newCalls(&s))
	command.AddCommand(newVersion())
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
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s\n", c.Root().Name(), c.Root().Version)
			return err
		},
	}
}

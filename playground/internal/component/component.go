// Package component holds what each child process of the playground runs: the community's own commands, unchanged, and
// etcd. A process runs one of them only, because they share flags, feature gates and metrics that are global.
package component

import (
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
)

// upstream are the community's commands. Making one of them already changes the process, so only run does that.
var upstream = []struct {
	name string
	new  func() *cobra.Command
}{
	{child.APIServer, apiserver.NewAPIServerCommand},
	{child.ControllerManager, controllermanager.NewControllerManagerCommand},
	{child.Scheduler, func() *cobra.Command { return scheduler.NewSchedulerCommand() }},
}

// NewCommand returns the command `playground run COMPONENT …`, hidden because only the playground itself calls it.
func NewCommand() *cobra.Command {
	run := &cobra.Command{
		Use:    child.Run + " COMPONENT",
		Short:  "Run one component of the control plane in this process",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	for _, c := range upstream {
		run.AddCommand(&cobra.Command{
			Use:                c.name,
			DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				component := c.new()
				component.SetArgs(args)
				return cli.RunNoErrOutput(component)
			},
		})
	}
	run.AddCommand(newEtcdCommand(), newKubeletCommand())
	return run
}

// Package component has the programs that the child processes of the playground run: the
// unchanged commands of the control plane, etcd, and a kubelet without containers. A
// process runs only one of these programs, because they share global flags, feature gates
// and metrics.
package component

import (
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
)

// upstream lists the commands of the control plane. Creating a command changes global
// state, so only the command that is to run is created.
var upstream = []struct {
	name string
	new  func() *cobra.Command
}{
	{child.APIServer, apiserver.NewAPIServerCommand},
	{child.ControllerManager, controllermanager.NewControllerManagerCommand},
	{child.Scheduler, func() *cobra.Command { return scheduler.NewSchedulerCommand() }},
}

// NewCommand returns the command `playground run COMPONENT …`. It is hidden, because only the
// playground itself calls it.
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

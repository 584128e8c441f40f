// Package command defines the command line of the playground.
package command

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/playground/internal/component"
	"github.com/fairlead-k8s/fairlead/playground/internal/demo"
)

const about = `A real Kubernetes control plane with real kubelet code on one Linux machine.

It runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubelets, each in a separate process, all
on the loopback interface. Nodes start as they do in a cloud: with the taint
node.cloudprovider.kubernetes.io/uninitialized, which a cloud-controller-manager has to remove. Containers are not
really run: the kubelets use a fake container runtime. Nothing is downloaded, and nothing needs root.`

const examples = `  # A control plane and two nodes, until Ctrl-C
  playground up --nodes 2

  # Nodes that follow the instances of a simulated cloud
  simcloud serve --listen 127.0.0.1:8080 &
  playground up --cloud http://127.0.0.1:8080

  # For programs: one line of JSON on stdout when all is ready
  playground up --data-dir /tmp/cluster -o json

  # Look at what runs, and see what happens without an API server
  playground status --data-dir /tmp/cluster
  playground restart kube-apiserver --data-dir /tmp/cluster`

// New returns the command line.
func New(clock clock.WithTicker) *cobra.Command {
	root := &cobra.Command{
		Use:           "playground",
		Short:         "A real Kubernetes control plane on one machine",
		Long:          about,
		Example:       examples,
		SilenceUsage:  true,
		SilenceErrors: true, // main prints it
	}
	// Kubernetes' packages add this flag to the command line of every program that links them. The playground does not
	// need it.
	_ = pflag.CommandLine.MarkHidden("version") // cannot fail: the flag exists
	root.AddCommand(newUp(clock), newDemo(clock), newStatus(), newStop(), newStart(), newRestart(), component.NewCommand())
	return root
}

func newDemo(clock clock.WithTicker) *cobra.Command {
	o := demo.Options{Clock: clock}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a cloud-controller-manager at work: control plane, simulated cloud, three nodes and a Service",
		Long: `Show a cloud-controller-manager at work.

Three instances of a simulated cloud register as nodes, each with the taint that keeps pods away. A pod has to wait.
Then the cloud-controller-manager starts, initialises the nodes, and the pod runs. A Service gets a load balancer, and an
address at which the nodes answer. All of it keeps running until Ctrl-C, for you to play with; with --check it is
checked, and ends.`,
		Example: `  playground demo
  playground demo --check --simcloud bin/simcloud --ccm bin/cloud-controller-manager`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			executable, err := os.Executable()
			if err != nil {
				return err
			}
			o.Playground, o.Out = executable, cmd.OutOrStdout()
			for _, neighbour := range []struct {
				path *string
				name string
			}{{&o.Simcloud, "simcloud"}, {&o.CCM, "cloud-controller-manager"}} {
				if *neighbour.path == "" {
					*neighbour.path = filepath.Join(filepath.Dir(executable), neighbour.name)
				}
			}
			return demo.Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Check, "check", false, "print what is shown, check it, and exit; a failed check is an error")
	f.StringVar(&o.Simcloud, "simcloud", "", "executable of the simulated cloud (default: in the folder of this executable)")
	f.StringVar(&o.CCM, "ccm", "", "executable of the cloud-controller-manager (default: in the folder of this executable)")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "how long the demo may take")
	return cmd
}

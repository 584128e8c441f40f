package command

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/playground/internal/demo"
)

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

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/playground/internal/control"
)

func newStatus() *cobra.Command {
	var dataDir, output string
	cmd := &cobra.Command{
		Use:     "status --data-dir DIR",
		Short:   "List the processes of a running playground, their logs, and which of them are stopped",
		Example: "  playground status --data-dir /tmp/cluster",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := control.NewClient(dataDir).List(cmd.Context())
			if err != nil {
				return err
			}
			if output == outputJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			_, _ = fmt.Fprintln(table, "NAME\tPID\tLOG") // Flush returns the error
			for _, child := range list {
				pid := "stopped"
				if child.PID != 0 {
					pid = strconv.Itoa(child.PID)
				}
				_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", child.Name, pid, child.Log)
			}
			return table.Flush()
		},
	}
	addDataDir(cmd, &dataDir)
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "text or json")
	return cmd
}

func newStop() *cobra.Command {
	return newChange("stop", "Stop one process of a running playground", (*control.Client).Stop)
}

func newRestart() *cobra.Command {
	return newChange("restart", "Stop a process of a running playground and start it again, on the same port", (*control.Client).Restart)
}

// newChange returns a command that stops or restarts a child.
func newChange(verb, short string, change func(*control.Client, context.Context, string, control.Manner) error) *cobra.Command {
	var dataDir string
	var kill bool
	cmd := &cobra.Command{
		Use:   verb + " NAME --data-dir DIR",
		Short: short,
		Long: short + ".\n`playground status` lists the names. The other processes are not informed, as in a real failure.\n" +
			"The command returns when the process has ended or, for restart, runs again. A restarted kube-apiserver\n" +
			"needs some time until it answers: /readyz reports when it does.",
		Example: fmt.Sprintf("  playground %[1]s kube-apiserver --data-dir /tmp/cluster\n"+
			"  playground %[1]s kubelet-node-1 --data-dir /tmp/cluster --kill", verb),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			how := control.Politely
			if kill {
				how = control.AtOnce
			}
			return change(control.NewClient(dataDir), cmd.Context(), args[0], how)
		},
	}
	addDataDir(cmd, &dataDir)
	cmd.Flags().BoolVar(&kill, "kill", false, "SIGKILL instead of SIGTERM")
	return cmd
}

func newStart() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:     "start NAME --data-dir DIR",
		Short:   "Start a process again that was stopped",
		Example: "  playground start kube-apiserver --data-dir /tmp/cluster",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return control.NewClient(dataDir).Start(cmd.Context(), args[0])
		},
	}
	addDataDir(cmd, &dataDir)
	return cmd
}

func addDataDir(cmd *cobra.Command, dataDir *string) {
	cmd.Flags().StringVar(dataDir, "data-dir", "", "data folder of the running playground, which contains its kubeconfig")
	_ = cmd.MarkFlagRequired("data-dir") // cannot fail: the flag was just defined
}

// Command simcloud is a simulated cloud on this machine, and the tool to inspect
// it and to make it fail.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	kubernetes "k8s.io/component-base/version"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, shown(err))
		os.Exit(1)
	}
}

// shown returns the line that shows an error. The cloud may have written parts of the
// error, so the line has no control characters and no secrets.
func shown(err error) string {
	return printable.Line("simcloud: "+printable.WithoutSecrets(err.Error()), textLimit)
}

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
	var s session
	for id, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"The cloud:", []*cobra.Command{newServe()}},
		{"Instances:", instanceCommands(&s)},
		{"Load balancers and routes:", []*cobra.Command{newLoadBalancer(&s), newStaticIP(&s), newRoute(&s)}},
		{"Volumes:", []*cobra.Command{newVolume(&s)}},
		{"Faults and calls:", []*cobra.Command{newFault(&s), newCalls(&s)}},
	} {
		command.AddGroup(&cobra.Group{ID: strconv.Itoa(id), Title: g.title})
		for _, c := range g.commands {
			c.GroupID = strconv.Itoa(id)
			command.AddCommand(c)
		}
	}
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

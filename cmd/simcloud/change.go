package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// change changes an instance that a command has found.
type change func(ctx context.Context, client *simulator.Client, id string, args []string) error

// changing turns c into a command that changes an instance. The first argument names
// the instance.
func (s *session) changing(c *cobra.Command, change change) *cobra.Command {
	c.ValidArgsFunction = first(s.instanceNames())
	return s.command(c, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		i, err := find(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := change(ctx, client, i.ID, args[1:]); err != nil {
			return err
		}
		changed, err := client.Instance(ctx, i.ID)
		if err != nil {
			return notShown(err)
		}
		return s.printDone(out, changed, "is now")
	})
}

func notShown(err error) error { return fmt.Errorf("it is done, but cannot be shown: %w", err) }

// updating turns c into a command that patches an instance. The first argument names
// the instance.
func (s *session) updating(c *cobra.Command, patch func(args []string) (simulator.InstancePatch, error)) *cobra.Command {
	return s.changing(c, func(ctx context.Context, client *simulator.Client, id string, args []string) error {
		p, err := patch(args)
		if err != nil {
			return err
		}
		_, err = client.UpdateInstance(ctx, id, p)
		return err
	})
}

func newStart(s *session) *cobra.Command {
	return s.changing(&cobra.Command{
		Use:   "start ID|NAME",
		Short: "Start a stopped instance",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, id string, _ []string) error {
		return client.StartInstance(ctx, id)
	})
}

func newStop(s *session) *cobra.Command {
	return s.changing(&cobra.Command{
		Use:   "stop ID|NAME",
		Short: "Stop an instance; it can be started again",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, id string, _ []string) error {
		return client.StopInstance(ctx, id)
	})
}

func newTerminate(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "terminate ID|NAME",
		Short:             "Terminate an instance for good",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.instanceNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		i, err := find(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := client.TerminateInstance(ctx, i.ID); err != nil {
			return err
		}
		left, err := client.Instance(ctx, i.ID)
		switch {
		case simulator.IsNotFound(err):
			i.State = simulator.Terminated
			return s.printDone(out, i, "is")
		case err != nil:
			return notShown(err)
		}
		return s.printDone(out, left, "is now")
	})
}

func newResize(s *session) *cobra.Command {
	return s.updating(&cobra.Command{
		Use:     "resize ID|NAME TYPE",
		Short:   "Change the type of an instance",
		Example: "  simcloud resize node-1 large",
		Args:    cobra.ExactArgs(2),
	}, func(args []string) (simulator.InstancePatch, error) {
		return simulator.InstancePatch{Type: &args[0]}, nil
	})
}

func newRename(s *session) *cobra.Command {
	return s.updating(&cobra.Command{
		Use:     "rename ID|NAME NEW-NAME",
		Short:   "Change the name of an instance; its ID stays",
		Example: "  simcloud rename node-1 node-9",
		Args:    cobra.ExactArgs(2),
	}, func(args []string) (simulator.InstancePatch, error) {
		return simulator.InstancePatch{Name: &args[0]}, nil
	})
}

func newReaddress(s *session) *cobra.Command {
	c := s.updating(&cobra.Command{
		Use:   "readdress ID|NAME TYPE=ADDRESS...",
		Short: "Replace the addresses of an instance",
		Long:  "Replace all addresses of an instance. Their order matters. Without arguments, all addresses are removed.",
		Example: `  simcloud readdress node-1 InternalIP=127.0.9.1 ExternalIP=203.0.113.9
  simcloud readdress node-1`,
		Args: cobra.MinimumNArgs(1),
	}, func(args []string) (simulator.InstancePatch, error) {
		addresses, err := parseAddresses(args)
		if addresses == nil {
			addresses = []simulator.Address{} // an empty list, because nil would mean unchanged
		}
		return simulator.InstancePatch{Addresses: addresses}, err
	})
	names := c.ValidArgsFunction
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return names(c, args, word)
		}
		return addressTypes(c, args, word)
	}
	return c
}

func newRelabel(s *session) *cobra.Command {
	return s.updating(&cobra.Command{
		Use:     "relabel ID|NAME KEY=VALUE|KEY-...",
		Short:   "Set and remove labels of an instance",
		Example: "  simcloud relabel node-1 rack=r2 disk-",
		Args:    cobra.MinimumNArgs(2),
	}, func(args []string) (simulator.InstancePatch, error) {
		labels := map[string]*string{}
		for _, arg := range args {
			if key, value, ok := strings.Cut(arg, "="); ok {
				labels[key] = &value
			} else if key, ok := strings.CutSuffix(arg, "-"); ok {
				labels[key] = nil
			} else {
				return simulator.InstancePatch{}, fmt.Errorf("label %q: want KEY=VALUE to set it or KEY- to remove it", arg)
			}
		}
		return simulator.InstancePatch{Labels: labels}, nil
	})
}

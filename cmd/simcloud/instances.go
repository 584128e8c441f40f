package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/simulator"
)

var instances = resource[simulator.Instance]{
	what:     "instance",
	list:     "simcloud list",
	none:     "No instances. `simcloud create NAME` creates one.",
	all:      (*simulator.Client).Instances,
	identify: func(i simulator.Instance) (id, name, state string) { return i.ID, i.Name, string(i.State) },
	head:     []string{"ID", "NAME", "STATE", "TYPE", "ZONE", "ADDRESSES", "LABELS"},
	row: func(i simulator.Instance) []string {
		return []string{i.ID, i.Name, string(i.State), i.Type, i.Zone, addressList(i.Addresses), pairList(i.Labels)}
	},
}

func instanceCommands(s *session) []*cobra.Command {
	return []*cobra.Command{
		instances.listing(s, "List all instances"),
		instances.showing(s, &cobra.Command{Short: "Show one instance with all details"}, instanceDetails),
		newCreate(s),
		changing(s, &cobra.Command{Use: "start ID|NAME", Short: "Start a stopped instance", Args: cobra.ExactArgs(1)}, (*simulator.Client).StartInstance),
		changing(s, &cobra.Command{Use: "stop ID|NAME", Short: "Stop an instance; it can be started again", Args: cobra.ExactArgs(1)}, (*simulator.Client).StopInstance),
		newTerminate(s),
		patching(s, &cobra.Command{
			Use:     "resize ID|NAME TYPE",
			Short:   "Change the type of an instance",
			Example: "  simcloud resize node-1 large",
			Args:    cobra.ExactArgs(2),
		}, func(args []string) (p simulator.InstancePatch, err error) { p.Type = &args[0]; return p, nil }),
		newReaddress(s),
		patching(s, &cobra.Command{
			Use:     "rename ID|NAME NEW-NAME",
			Short:   "Change the name of an instance; its ID stays",
			Example: "  simcloud rename node-1 node-9",
			Args:    cobra.ExactArgs(2),
		}, func(args []string) (p simulator.InstancePatch, err error) { p.Name = &args[0]; return p, nil }),
		patching(s, &cobra.Command{
			Use:     "relabel ID|NAME KEY=VALUE|KEY-...",
			Short:   "Set and remove labels of an instance",
			Example: "  simcloud relabel node-1 rack=r2 disk-",
			Args:    cobra.MinimumNArgs(2),
		}, relabelled),
	}
}

func newCreate(s *session) *cobra.Command {
	var i simulator.Instance
	var addresses, labels []string
	c := s.command(&cobra.Command{
		Use:   "create NAME",
		Short: "Create an instance",
		Long: `Create an instance. The cloud decides what is not given: it has one zone and one
type that it takes, and without addresses an instance gets a free loopback address
of its own as its InternalIP.`,
		Example: `  simcloud create node-1
  simcloud create node-2 --zone sim-1b --type large --label rack=r1 --label disk=ssd
  simcloud create node-3 --address InternalIP=127.0.9.1 --address InternalIP=fd00::9 --address ExternalIP=203.0.113.9`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) (err error) {
		i.Name = args[0]
		if i.Addresses, err = parseAddresses(addresses); err != nil {
			return err
		}
		if i.Labels, err = parsePairs("label", "rack=r1", labels); err != nil {
			return err
		}
		created, err := client.CreateInstance(ctx, i)
		if err != nil {
			return err
		}
		return s.reportInstance(out, created, "created, and is")
	})
	c.Flags().StringVar(&i.Zone, "zone", "", "zone")
	c.Flags().StringVar(&i.Region, "region", "", "region")
	c.Flags().StringVar(&i.Type, "type", "", "type, such as small")
	c.Flags().StringArrayVar(&addresses, "address", nil, "address as TYPE=ADDRESS; the order counts; can be repeated")
	c.Flags().StringArrayVar(&labels, "label", nil, "label as KEY=VALUE; can be repeated")
	complete(c, cobra.NoFileCompletions, "zone", "region", "type", "label")
	complete(c, addressTypes, "address")
	return c
}

// changing turns c into a command that changes the instance that its first argument names.
func changing(s *session, c *cobra.Command, change func(*simulator.Client, context.Context, string) error) *cobra.Command {
	c.ValidArgsFunction = first(instances.names(s))
	return s.command(c, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		i, err := instances.find(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := change(client, ctx, i.ID); err != nil {
			return err
		}
		changed, err := client.Instance(ctx, i.ID)
		if err != nil {
			return fmt.Errorf("it is done, but cannot be shown: %w", err)
		}
		return s.reportInstance(out, changed, "is now")
	})
}

// patching turns c into a command that patches the instance that its first argument names.
// The function patch gets the other arguments.
func patching(s *session, c *cobra.Command, patch func(args []string) (simulator.InstancePatch, error)) *cobra.Command {
	c.ValidArgsFunction = first(instances.names(s))
	return s.command(c, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		i, err := instances.find(ctx, client, args[0])
		if err != nil {
			return err
		}
		p, err := patch(args[1:])
		if err != nil {
			return err
		}
		changed, err := client.UpdateInstance(ctx, i.ID, p)
		if err != nil {
			return err
		}
		return s.reportInstance(out, changed, "is now")
	})
}

func newTerminate(s *session) *cobra.Command {
	c := &cobra.Command{Use: "terminate ID|NAME", Short: "Terminate an instance for good"}
	return instances.deleting(s, c, (*simulator.Client).TerminateInstance, "terminated")
}

func newReaddress(s *session) *cobra.Command {
	c := patching(s, &cobra.Command{
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
	c.ValidArgsFunction = firstAndRest(instances.names(s), addressTypes)
	return c
}

func relabelled(args []string) (simulator.InstancePatch, error) {
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
}

// addressTypes completes the first half of TYPE=ADDRESS.
func addressTypes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range simulator.AddressTypes() {
		words = append(words, string(t)+"=")
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func parseAddresses(words []string) ([]simulator.Address, error) {
	var addresses []simulator.Address
	for _, word := range words {
		kind, address, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("address %q: want TYPE=ADDRESS, such as InternalIP=127.0.9.1", word)
		}
		addresses = append(addresses, simulator.Address{Type: simulator.AddressType(kind), Address: address})
	}
	return addresses, nil
}

func instanceDetails(i simulator.Instance) [][]string {
	rows := [][]string{
		{"ID:", i.ID},
		{"Name:", i.Name},
		{"State:", string(i.State)},
		{"Type:", i.Type},
		{"Zone:", i.Zone},
		{"Region:", i.Region},
	}
	return append(append(rows, addressRows(i.Addresses)...), pairRows("Labels:", i.Labels)...)
}

// reportInstance prints an instance that a command has changed.
func (s *session) reportInstance(out io.Writer, i simulator.Instance, what string) error {
	return s.report(out, i, "Instance %s (%s) %s %s: %s, %s, %s", i.ID, i.Name, what, i.State,
		orNone(i.Type, "no type"), orNone(addressList(i.Addresses), "no addresses"), orNone(pairList(i.Labels), "no labels"))
}

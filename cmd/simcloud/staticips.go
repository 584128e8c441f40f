package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newStaticIP(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:     "ip",
		Aliases: []string{"static-ip"},
		Short:   "Static IPs for load balancers: list, reserve, release",
		Args:    typo.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() }, // an unknown subcommand is an error
	}
	c.AddCommand(newStaticIPList(s), newStaticIPReserve(s), newStaticIPRelease(s))
	return c
}

func newStaticIPList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all static IPs, and which load balancer uses each",
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.StaticIPs(ctx)
		if err != nil {
			return err
		}
		list := func(items []simulator.StaticIP) any { return simulator.StaticIPList{Items: items} }
		return printList(s, out, all, list, columns[simulator.StaticIP]{
			none: "No static IPs. `simcloud ip reserve NAME` reserves one.",
			head: []string{"ID", "NAME", "ADDRESS", "LOAD BALANCER"},
			row: func(ip simulator.StaticIP) []string {
				return []string{ip.ID, ip.Name, ip.Address, orNone(ip.LoadBalancer, "-")}
			},
		})
	})
}

func newStaticIPReserve(s *session) *cobra.Command {
	var wanted simulator.StaticIP
	c := s.command(&cobra.Command{
		Use:   "reserve NAME",
		Short: "Reserve an address until it is released",
		Example: `  simcloud ip reserve my-address
  simcloud ip reserve my-address --address 127.100.0.1`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		wanted.Name = args[0]
		created, err := client.CreateStaticIP(ctx, wanted)
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, created)
		}
		return s.say(out, "Static IP %s (%s) is reserved: %s", created.ID, created.Name, created.Address)
	})
	c.Flags().StringVar(&wanted.Address, "address", "", "address, within 127.64.0.0/10; default is a free one")
	complete(c, "address", cobra.NoFileCompletions)
	return c
}

func newStaticIPRelease(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "release ID|NAME",
		Short:             "Release an address that no load balancer uses",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.staticIPNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		ip, err := findStaticIP(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := client.ReleaseStaticIP(ctx, ip.ID); err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, ip)
		}
		return s.say(out, "Static IP %s (%s) is released.", ip.ID, ip.Name)
	})
}

// findStaticIP returns the static IP with the ID or the name.
func findStaticIP(ctx context.Context, client *simulator.Client, word string) (simulator.StaticIP, error) {
	all, err := client.StaticIPs(ctx)
	if err != nil {
		return simulator.StaticIP{}, err
	}
	for _, ip := range all {
		if word == ip.ID || word == ip.Name {
			return ip, nil
		}
	}
	return simulator.StaticIP{}, fmt.Errorf("no static IP has the ID or the name %q; `simcloud ip list` shows all", word)
}

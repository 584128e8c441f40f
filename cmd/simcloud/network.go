package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/simulator"
)

var staticIPs = resource[simulator.StaticIP]{
	what:     "static IP",
	list:     "simcloud ip list",
	none:     "No static IPs. `simcloud ip reserve NAME` reserves one.",
	all:      (*simulator.Client).StaticIPs,
	identify: func(ip simulator.StaticIP) (id, name, state string) { return ip.ID, ip.Name, ip.Address },
	head:     []string{"ID", "NAME", "ADDRESS", "LOAD BALANCER"},
	row: func(ip simulator.StaticIP) []string {
		return []string{ip.ID, ip.Name, ip.Address, orNone(ip.LoadBalancer, "-")}
	},
}

func newStaticIP(s *session) *cobra.Command {
	var wanted simulator.StaticIP
	reserve := s.command(&cobra.Command{
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
		return s.report(out, created, "Static IP %s (%s) is reserved: %s", created.ID, created.Name, created.Address)
	})
	reserve.Flags().StringVar(&wanted.Address, "address", "", "address, within 127.64.0.0/10; default is a free one")
	complete(reserve, cobra.NoFileCompletions, "address")
	c := group("ip", "Static IPs for load balancers: list, reserve, release",
		staticIPs.listing(s, "List all static IPs, and which load balancer uses each"), reserve,
		staticIPs.deleting(s, &cobra.Command{Use: "release ID|NAME", Short: "Release an address that no load balancer uses"},
			(*simulator.Client).ReleaseStaticIP, "released"))
	c.Aliases = []string{"static-ip"}
	return c
}

var volumes = resource[simulator.Volume]{
	what:     "volume",
	list:     "simcloud volume list",
	none:     "No volumes. `simcloud volume create NAME` creates one.",
	all:      (*simulator.Client).Volumes,
	identify: func(v simulator.Volume) (id, name, state string) { return v.ID, v.Name, "" },
	head:     []string{"ID", "NAME", "ZONES", "REGION"},
	row:      func(v simulator.Volume) []string { return []string{v.ID, v.Name, strings.Join(v.Zones, ","), v.Region} },
}

func newVolume(s *session) *cobra.Command {
	var wanted simulator.Volume
	create := s.command(&cobra.Command{
		Use:   "create NAME",
		Short: "Create a volume in one zone or in several",
		Example: `  simcloud volume create data
  simcloud volume create data --zone sim-1b
  simcloud volume create data --zone sim-1a --zone sim-1b`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		wanted.Name = args[0]
		created, err := client.CreateVolume(ctx, wanted)
		if err != nil {
			return err
		}
		return s.report(out, created, "Volume %s (%s) is created: %s", created.ID, created.Name, strings.Join(created.Zones, ","))
	})
	create.Flags().StringArrayVar(&wanted.Zones, "zone", nil, "zone of the volume, may be repeated; default is one that the cloud chooses")
	create.Flags().StringVar(&wanted.Region, "region", "", "region of the volume; default is one that the cloud chooses")
	complete(create, cobra.NoFileCompletions, "zone", "region")
	return group("volume", "Volumes and their zones: list, create, delete",
		volumes.listing(s, "List all volumes with their zones"), create,
		volumes.deleting(s, &cobra.Command{Use: "delete ID|NAME", Short: "Delete a volume"}, (*simulator.Client).DeleteVolume, "deleted"))
}

var routes = resource[simulator.Route]{
	what:     "route",
	list:     "simcloud route list",
	none:     "No routes. `simcloud route create NAME DESTINATION --target INSTANCE` creates one.",
	all:      (*simulator.Client).Routes,
	identify: func(r simulator.Route) (id, name, state string) { return r.ID, r.Name, r.Destination },
	head:     []string{"ID", "NAME", "DESTINATION", "TARGET", "STATE", "TAGS"},
	row: func(r simulator.Route) []string {
		return []string{r.ID, r.Name, r.Destination, orNone(r.Target, "-"), string(r.State), pairList(r.Tags)}
	},
}

func newRoute(s *session) *cobra.Command {
	return group("route", "The route table: list, show, create, delete",
		routes.listing(s, "List all routes"),
		routes.showing(s, &cobra.Command{Short: "Show one route with all details", Aliases: []string{"get"}}, routeDetails),
		newRouteCreate(s),
		routes.deleting(s, &cobra.Command{Use: "delete ID|NAME", Aliases: []string{"rm"}, Short: "Delete a route"},
			(*simulator.Client).DeleteRoute, "deleted"))
}

func routeDetails(r simulator.Route) [][]string {
	rows := [][]string{
		{"ID:", r.ID},
		{"Name:", r.Name},
		{"Destination:", r.Destination},
		{"Target:", orNone(r.Target, "none")},
		{"State:", string(r.State)},
		{"Created:", r.Created.Local().Format(time.DateTime)},
	}
	return append(append(rows, addressRows(r.TargetAddresses)...), pairRows("Tags:", r.Tags)...)
}

func newRouteCreate(s *session) *cobra.Command {
	var target string
	var addresses, tags []string
	var blackhole bool
	c := s.command(&cobra.Command{
		Use:   "create NAME DESTINATION",
		Short: "Create a route",
		Long: `Create a route. It leads to an instance, or without one elsewhere, such as to a
gateway. The table belongs to the account. The tags of a route say whose it is: the
provider "simulated" tags the routes of a cluster with fairlead.dev/cluster=CLUSTER.

A route to an instance is a blackhole while the instance is stopped, and for good
once it is gone. A destination is a range, or a name of ranges that the cloud
keeps, such as pl-00000001.`,
		Example: `  simcloud route create by-hand 10.244.1.0/24 --target node-1
  simcloud route create stale 10.244.9.0/24 --target node-1 --tag fairlead.dev/cluster=kubernetes
  simcloud route create gateway 0.0.0.0/0
  simcloud route create drop 10.244.8.0/24 --blackhole
  simcloud route create service pl-00000001`,
		Args: cobra.ExactArgs(2),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) (err error) {
		wanted := simulator.Route{Name: args[0], Destination: args[1]}
		if blackhole {
			wanted.State = simulator.RouteBlackhole
		}
		if wanted.Tags, err = parsePairs("tag", "owner=me", tags); err != nil {
			return err
		}
		if wanted.TargetAddresses, err = parseAddresses(addresses); err != nil {
			return err
		}
		if target != "" {
			i, err := instances.find(ctx, client, target)
			if err != nil {
				return err
			}
			wanted.Target = i.ID
		}
		created, err := client.CreateRoute(ctx, wanted)
		if err != nil {
			return err
		}
		return s.report(out, created, "Route %s (%s) created, and is %s: %s to %s", created.ID, created.Name, created.State,
			created.Destination, orNone(created.Target, "no instance"))
	})
	f := c.Flags()
	f.StringVar(&target, "target", "", "ID or name of an instance")
	f.StringArrayVar(&addresses, "address", nil, "address of the target as TYPE=ADDRESS, which the cloud only stores; can be repeated")
	f.StringArrayVar(&tags, "tag", nil, "tag as KEY=VALUE; can be repeated")
	f.BoolVar(&blackhole, "blackhole", false, "drop the packets that the route matches; not allowed with --target")
	complete(c, instances.names(s), "target")
	complete(c, addressTypes, "address")
	complete(c, cobra.NoFileCompletions, "tag")
	return c
}

package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newRoute(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "route",
		Short: "The route table: list, show, create, delete",
		Args:  typo.NoArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() }, // an unknown subcommand is an error
	}
	c.AddCommand(newRouteList(s), newRouteShow(s), newRouteCreate(s), newRouteDelete(s))
	return c
}

func newRouteList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all routes",
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.Routes(ctx)
		if err != nil {
			return err
		}
		list := func(items []simulator.Route) any { return simulator.RouteList{Items: items} }
		return printList(s, out, all, list, columns[simulator.Route]{
			none: "No routes. `simcloud route create NAME DESTINATION --target INSTANCE` creates one.",
			head: []string{"ID", "NAME", "DESTINATION", "TARGET", "STATE", "TAGS"},
			row: func(r simulator.Route) []string {
				return []string{r.ID, r.Name, r.Destination, orNone(r.Target, "-"), string(r.State), pairList(r.Tags)}
			},
		})
	})
}

func newRouteShow(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "show ID|NAME",
		Aliases:           []string{"get"},
		Short:             "Show one route with all details",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.routeNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		r, err := findRoute(ctx, client, args[0])
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, r)
		}
		rows := [][]string{
			{"ID:", r.ID},
			{"Name:", r.Name},
			{"Destination:", r.Destination},
			{"Target:", orNone(r.Target, "none")},
			{"State:", string(r.State)},
			{"Created:", r.Created.Local().Format(time.DateTime)},
		}
		for n, a := range r.TargetAddresses {
			rows = append(rows, []string{heading(n, "Addresses:"), string(a.Type) + "=" + a.Address})
		}
		return printTable(out, append(rows, pairRows("Tags:", r.Tags)...))
	})
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
		if wanted.Tags, err = parseTags(tags); err != nil {
			return err
		}
		if wanted.TargetAddresses, err = parseAddresses(addresses); err != nil {
			return err
		}
		if target != "" {
			i, err := find(ctx, client, target)
			if err != nil {
				return err
			}
			wanted.Target = i.ID
		}
		created, err := client.CreateRoute(ctx, wanted)
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, created)
		}
		return s.say(out, "Route %s (%s) created, and is %s: %s to %s", created.ID, created.Name, created.State,
			created.Destination, orNone(created.Target, "no instance"))
	})
	f := c.Flags()
	f.StringVar(&target, "target", "", "ID or name of an instance")
	f.StringArrayVar(&addresses, "address", nil, "address of the target as TYPE=ADDRESS, which the cloud only stores; can be repeated")
	f.StringArrayVar(&tags, "tag", nil, "tag as KEY=VALUE; can be repeated")
	f.BoolVar(&blackhole, "blackhole", false, "drop the packets that the route matches; not allowed with --target")
	complete(c, "target", s.instanceNames())
	complete(c, "address", addressTypes)
	complete(c, "tag", cobra.NoFileCompletions)
	return c
}

func newRouteDelete(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "delete ID|NAME",
		Aliases:           []string{"rm"},
		Short:             "Delete a route",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.routeNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		r, err := findRoute(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := client.DeleteRoute(ctx, r.ID); err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, r)
		}
		return s.say(out, "Route %s (%s) is deleted.", r.ID, r.Name)
	})
}

// findRoute returns the route with the given ID. If there is none, it returns the
// route with that name.
func findRoute(ctx context.Context, client *simulator.Client, word string) (simulator.Route, error) {
	found, err := lookUp("route", "simcloud route list", word, func(ids, names []string) ([]simulator.Route, error) {
		return client.FindRoutes(ctx, simulator.RouteQuery{IDs: ids, Names: names})
	})
	if err != nil {
		return simulator.Route{}, err
	}
	return found[0], nil
}

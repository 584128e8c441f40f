package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newVolume(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "volume",
		Short: "Volumes and their zones: list, create, delete",
		Args:  typo.NoArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() }, // an unknown subcommand is an error
	}
	c.AddCommand(newVolumeList(s), newVolumeCreate(s), newVolumeDelete(s))
	return c
}

func newVolumeList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all volumes with their zones",
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.Volumes(ctx)
		if err != nil {
			return err
		}
		list := func(items []simulator.Volume) any { return simulator.VolumeList{Items: items} }
		return printList(s, out, all, list, columns[simulator.Volume]{
			none: "No volumes. `simcloud volume create NAME` creates one.",
			head: []string{"ID", "NAME", "ZONES", "REGION"},
			row: func(v simulator.Volume) []string {
				return []string{v.ID, v.Name, strings.Join(v.Zones, ","), v.Region}
			},
		})
	})
}

func newVolumeCreate(s *session) *cobra.Command {
	var wanted simulator.Volume
	c := s.command(&cobra.Command{
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
		if s.output == jsonOutput {
			return printJSON(out, created)
		}
		return s.say(out, "Volume %s (%s) is created: %s", created.ID, created.Name, strings.Join(created.Zones, ","))
	})
	c.Flags().StringArrayVar(&wanted.Zones, "zone", nil, "zone of the volume, may be repeated; default is one that the cloud chooses")
	c.Flags().StringVar(&wanted.Region, "region", "", "region of the volume; default is one that the cloud chooses")
	complete(c, "zone", cobra.NoFileCompletions)
	complete(c, "region", cobra.NoFileCompletions)
	return c
}

func newVolumeDelete(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "delete ID|NAME",
		Short:             "Delete a volume",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.volumeNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		v, err := findVolume(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := client.DeleteVolume(ctx, v.ID); err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, v)
		}
		return s.say(out, "Volume %s (%s) is deleted.", v.ID, v.Name)
	})
}

// findVolume returns the volume with the ID or the name.
func findVolume(ctx context.Context, client *simulator.Client, word string) (simulator.Volume, error) {
	all, err := client.Volumes(ctx)
	if err != nil {
		return simulator.Volume{}, err
	}
	for _, v := range all {
		if word == v.ID || word == v.Name {
			return v, nil
		}
	}
	return simulator.Volume{}, fmt.Errorf("no volume has the ID or the name %q; `simcloud volume list` shows all", word)
}

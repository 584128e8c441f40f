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

func newList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all instances",
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.Instances(ctx)
		if err != nil {
			return err
		}
		return s.printInstances(out, all)
	})
}

func newShow(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "show ID|NAME",
		Short:             "Show one instance with all details",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.instanceNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		i, err := find(ctx, client, args[0])
		if err != nil {
			return err
		}
		return s.printInstance(out, i)
	})
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
		if i.Labels, err = parseLabels(labels); err != nil {
			return err
		}
		created, err := client.CreateInstance(ctx, i)
		if err != nil {
			return err
		}
		return s.printDone(out, created, "created, and is")
	})
	c.Flags().StringVar(&i.Zone, "zone", "", "zone")
	c.Flags().StringVar(&i.Region, "region", "", "region")
	c.Flags().StringVar(&i.Type, "type", "", "type, such as small")
	c.Flags().StringArrayVar(&addresses, "address", nil, "address as TYPE=ADDRESS; the order counts; can be repeated")
	c.Flags().StringArrayVar(&labels, "label", nil, "label as KEY=VALUE; can be repeated")
	for _, flag := range []string{"zone", "region", "type", "label"} {
		complete(c, flag, cobra.NoFileCompletions)
	}
	complete(c, "address", addressTypes)
	return c
}

// addressTypes completes the first half of TYPE=ADDRESS.
func addressTypes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range simulator.AddressTypes() {
		words = append(words, string(t)+"=")
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// find returns the instance with the given ID. If there is none, it returns the only
// instance with that name.
func find(ctx context.Context, client *simulator.Client, word string) (simulator.Instance, error) {
	found, err := lookUp("instance", "simcloud list", word, func(ids, names []string) ([]simulator.Instance, error) {
		return client.FindInstances(ctx, simulator.InstanceQuery{IDs: ids, Names: names})
	})
	switch {
	case err != nil:
		return simulator.Instance{}, err
	case len(found) > 1:
		return simulator.Instance{}, ambiguous(word, found)
	}
	return found[0], nil
}

// lookUp returns the resource with the given ID. If there is none, it returns all
// resources with that name, or an error if there are no such resources.
func lookUp[T any](what, list, word string, find func(ids, names []string) ([]T, error)) ([]T, error) {
	if word == "" || strings.Contains(word, ",") {
		return nil, fmt.Errorf("%q is neither the ID nor the name of any %s", word, what)
	}
	found, err := find([]string{word}, nil)
	if err == nil && len(found) == 0 {
		found, err = find(nil, []string{word})
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no %s has the ID or the name %q; `%s` shows all", what, word, list)
	}
	return found, err
}

func ambiguous(name string, found []simulator.Instance) error {
	var ids []string
	for _, i := range found {
		ids = append(ids, i.ID)
	}
	return fmt.Errorf("%d instances are named %s; give one of their IDs: %s", len(ids), name, strings.Join(ids, ", "))
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

func parseLabels(words []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("label %q: want KEY=VALUE, such as rack=r1", word)
		}
		labels[key] = value
	}
	return labels, nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// resource describes one kind of resource to the commands that all kinds have.
type resource[T any] struct {
	what string // the word for one, such as "load balancer"
	list string // the command that lists all
	none string // printed instead of an empty list
	all  func(*simulator.Client, context.Context) ([]T, error)
	// identify returns the ID and the name, and a word about the state.
	identify func(T) (id, name, state string)
	head     []string
	row      func(T) []string
}

// find returns the resource with the given ID. If there is none, it returns the only
// resource with that name.
func (r resource[T]) find(ctx context.Context, client *simulator.Client, word string) (found T, err error) {
	all, err := r.all(client, ctx)
	if err != nil {
		return found, err
	}
	var ids []string
	for _, one := range all {
		id, name, _ := r.identify(one)
		if id == word {
			return one, nil
		}
		if name == word {
			found, ids = one, append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		return found, fmt.Errorf("no %s has the ID or the name %q; `%s` shows all", r.what, word, r.list)
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%d %ss are named %s; give one of their IDs: %s", len(ids), r.what, word, strings.Join(ids, ", "))
}

// names completes an argument or a flag with the names of the resources.
func (r resource[T]) names(s *session) cobra.CompletionFunc {
	return s.suggest(func(ctx context.Context, client *simulator.Client) ([]string, error) {
		all, err := r.all(client, ctx)
		var names []string
		for _, one := range all {
			id, name, state := r.identify(one)
			names = append(names, cobra.CompletionWithDesc(name, strings.TrimSpace(id+" "+state)))
		}
		return names, err
	})
}

// listing returns the command that lists all resources.
func (r resource[T]) listing(s *session, short string) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   short,
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := r.all(client, ctx)
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, simulator.List[T]{Items: append([]T{}, all...)}) // [] instead of null
		}
		if len(all) == 0 {
			return s.say(out, "%s", r.none)
		}
		rows := [][]string{r.head}
		for _, one := range all {
			rows = append(rows, r.row(one))
		}
		return printTable(out, rows)
	})
}

// showing returns the command that shows one resource with all details.
func (r resource[T]) showing(s *session, c *cobra.Command, details func(T) [][]string) *cobra.Command {
	c.Use, c.Args, c.ValidArgsFunction = "show ID|NAME", cobra.ExactArgs(1), first(r.names(s))
	return s.command(c, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		one, err := r.find(ctx, client, args[0])
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, one)
		}
		return printTable(out, details(one))
	})
}

// deleting returns the command that deletes one resource. The argument done is the verb of
// the sentence that it prints.
func (r resource[T]) deleting(s *session, c *cobra.Command, remove func(*simulator.Client, context.Context, string) error, done string) *cobra.Command {
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), first(r.names(s))
	return s.command(c, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		one, err := r.find(ctx, client, args[0])
		if err != nil {
			return err
		}
		id, name, _ := r.identify(one)
		if err := remove(client, ctx, id); err != nil {
			return err
		}
		return s.report(out, one, "%s %s (%s) is %s.", strings.ToUpper(r.what[:1])+r.what[1:], id, name, done)
	})
}

// group returns a command that only has commands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  typo.NoArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() }, // an unknown subcommand is an error
	}
	c.AddCommand(commands...)
	return c
}

// first returns suggestions for the first argument only.
func first(suggest cobra.CompletionFunc) cobra.CompletionFunc {
	return firstAndRest(suggest, cobra.NoFileCompletions)
}

// firstAndRest returns suggestions for the first argument, and others for the rest.
func firstAndRest(suggest, rest cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return rest(c, args, word)
		}
		return suggest(c, args, word)
	}
}

// anyNames suggests the names of resources of all kinds.
func anyNames(s *session) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var all []string
		for _, names := range []cobra.CompletionFunc{
			instances.names(s), loadBalancers.names(s), staticIPs.names(s), routes.names(s), volumes.names(s),
		} {
			some, _ := names(c, args, word)
			all = slices.Concat(all, some)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// parsePairs parses words of the form KEY=VALUE.
func parsePairs(what, example string, words []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%s %q: want KEY=VALUE, such as %s", what, word, example)
		}
		pairs[key] = value
	}
	return pairs, nil
}

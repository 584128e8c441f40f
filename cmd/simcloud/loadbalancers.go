package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newLoadBalancer(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:     "lb",
		Aliases: []string{"load-balancer"},
		Short:   "Load balancers: list, show, create, backends, delete",
		Args:    typo.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() }, // an unknown subcommand is an error
	}
	c.AddCommand(newLoadBalancerList(s), newLoadBalancerShow(s), newLoadBalancerCreate(s), newLoadBalancerBackends(s), newLoadBalancerDelete(s))
	return c
}

func newLoadBalancerList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all load balancers",
		Args:    typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.LoadBalancers(ctx)
		if err != nil {
			return err
		}
		return s.printLoadBalancers(out, all)
	})
}

func newLoadBalancerShow(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:   "show ID|NAME",
		Short: "Show one load balancer, the health of its backends, and its traffic",
		Long: `Show one load balancer, the health of its backends and its traffic.

If the cloud may not listen at a low port, the listener listens at another port, which is shown after "at".`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.loadBalancerNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		l, err := findLoadBalancer(ctx, client, args[0])
		if err != nil {
			return err
		}
		return s.printLoadBalancer(out, l)
	})
}

func newLoadBalancerCreate(s *session) *cobra.Command {
	var o loadBalancerOptions
	c := s.command(&cobra.Command{
		Use:   "create NAME",
		Short: "Create a load balancer",
		Example: `  simcloud lb create web --listen 80:30080 --backend node-1 --backend node-2
  simcloud lb create dns --listen UDP:53:30053 --listen 53:30053 --drain 30s --source-range 127.0.0.0/8
  simcloud lb create local --listen 80:30080 --check 31999/healthz --affinity 3h --static-ip my-address`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		wanted, err := o.wanted(ctx, client, args[0])
		if err != nil {
			return err
		}
		created, err := client.CreateLoadBalancer(ctx, wanted)
		if err != nil {
			return err
		}
		return s.printBalanced(out, created, "created, and is")
	})
	f := c.Flags()
	f.StringArrayVar(&o.listeners, "listen", nil, "listener as [TCP:|UDP:]PORT:BACKEND-PORT; can be repeated")
	f.StringArrayVar(&o.backends, "backend", nil, "ID or name of an instance; can be repeated")
	f.StringArrayVar(&o.ranges, "source-range", nil, "clients whose traffic is accepted, such as 192.0.2.0/24; can be repeated; default is everyone")
	f.StringArrayVar(&o.tags, "tag", nil, "tag as KEY=VALUE; can be repeated")
	f.StringVar(&o.check, "check", "", "health check, as PORT[/PATH]; default is a connection to each backend port")
	f.StringVar(&o.staticIP, "static-ip", "", "ID or name of a static IP")
	f.DurationVar(&o.affinity, "affinity", 0, "how long after its last connection a client stays with its backend; 0 means that it does not stay")
	f.Func("drain", "`duration` for which a removed backend keeps its connections; 0s cuts them; default is that of simcloud serve --drain", o.setDrain)
	for _, flag := range []string{"listen", "source-range", "tag", "check"} {
		complete(c, flag, cobra.NoFileCompletions)
	}
	complete(c, "backend", s.instanceNames())
	complete(c, "static-ip", s.staticIPNames())
	return c
}

// loadBalancerOptions are the flags of the command "lb create".
type loadBalancerOptions struct {
	listeners, backends, ranges, tags []string
	check, staticIP                   string
	affinity                          time.Duration
	drain                             *simulator.Duration // nil: the cloud decides
}

func (o *loadBalancerOptions) setDrain(text string) error {
	o.drain = new(simulator.Duration)
	return o.drain.UnmarshalText([]byte(text))
}

func (o *loadBalancerOptions) wanted(ctx context.Context, client *simulator.Client, name string) (l simulator.LoadBalancer, err error) {
	l = simulator.LoadBalancer{Name: name, SourceRanges: o.ranges, Affinity: simulator.Duration(o.affinity), Drain: o.drain}
	if len(o.listeners) == 0 {
		return l, errors.New("--listen is missing: what the load balancer listens at, such as 80:30080")
	}
	if l.Listeners, err = parseListeners(o.listeners); err != nil {
		return l, err
	}
	if l.HealthCheck, err = parseCheck(o.check); err != nil {
		return l, err
	}
	if l.Tags, err = parseTags(o.tags); err != nil {
		return l, err
	}
	if l.Backends, err = instanceIDs(ctx, client, o.backends); err != nil || o.staticIP == "" {
		return l, err
	}
	static, err := findStaticIP(ctx, client, o.staticIP)
	l.StaticIP = static.ID
	return l, err
}

func newLoadBalancerBackends(s *session) *cobra.Command {
	c := s.command(&cobra.Command{
		Use:   "backends ID|NAME [INSTANCE...]",
		Short: "Replace the backends of a load balancer",
		Long:  "Replace all backends of a load balancer, given by ID or name. Without instances, all backends are removed.",
		Example: `  simcloud lb backends web node-1 node-3
  simcloud lb backends web`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		l, err := findLoadBalancer(ctx, client, args[0])
		if err != nil {
			return err
		}
		ids, err := instanceIDs(ctx, client, args[1:])
		if err != nil {
			return err
		}
		changed, err := client.UpdateLoadBalancer(ctx, l.ID, simulator.LoadBalancerPatch{Backends: ids})
		if err != nil {
			return err
		}
		return s.printBalanced(out, changed, "is now")
	})
	names, instances := s.loadBalancerNames(), s.instanceNames()
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return names(c, args, word)
		}
		return instances(c, args, word)
	}
	return c
}

func newLoadBalancerDelete(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "delete ID|NAME",
		Aliases:           []string{"rm"},
		Short:             "Delete a load balancer and cut its connections",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(s.loadBalancerNames()),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		l, err := findLoadBalancer(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := client.DeleteLoadBalancer(ctx, l.ID); err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, l)
		}
		return s.say(out, "Load balancer %s (%s) is deleted.", l.ID, l.Name)
	})
}

// findLoadBalancer returns the load balancer with the given ID. If there is none, it
// returns the load balancer with that name.
func findLoadBalancer(ctx context.Context, client *simulator.Client, word string) (simulator.LoadBalancer, error) {
	found, err := lookUp("load balancer", "simcloud lb list", word, func(ids, names []string) ([]simulator.LoadBalancer, error) {
		return client.FindLoadBalancers(ctx, simulator.LoadBalancerQuery{IDs: ids, Names: names})
	})
	if err != nil {
		return simulator.LoadBalancer{}, err
	}
	return found[0], nil
}

// instanceIDs finds instances by ID or name. It never returns nil.
func instanceIDs(ctx context.Context, client *simulator.Client, words []string) ([]string, error) {
	ids := []string{}
	for _, word := range words {
		i, err := find(ctx, client, word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, i.ID)
	}
	return ids, nil
}

func parseListeners(words []string) ([]simulator.Listener, error) {
	var all []simulator.Listener
	for _, word := range words {
		parts := strings.Split(word, ":")
		if len(parts) == 2 {
			parts = append([]string{string(simulator.TCP)}, parts...)
		}
		if len(parts) != 3 {
			return nil, badListener(word)
		}
		port, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, badListener(word)
		}
		backendPort, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, badListener(word)
		}
		all = append(all, simulator.Listener{Protocol: simulator.Protocol(strings.ToUpper(parts[0])), Port: port, BackendPort: backendPort})
	}
	return all, nil
}

func badListener(word string) error {
	return fmt.Errorf("listener %q: want [TCP:|UDP:]PORT:BACKEND-PORT, such as 80:30080", word)
}

func parseCheck(word string) (simulator.HealthCheck, error) {
	if word == "" {
		return simulator.HealthCheck{}, nil
	}
	digits, path, found := strings.Cut(word, "/")
	port, err := strconv.Atoi(digits)
	if err != nil {
		return simulator.HealthCheck{}, fmt.Errorf("check %q: want PORT or PORT/PATH, such as 31999/healthz", word)
	}
	if found {
		path = "/" + path
	}
	return simulator.HealthCheck{Port: port, Path: path}, nil
}

func parseTags(words []string) (map[string]string, error) {
	tags := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("tag %q: want KEY=VALUE, such as owner=me", word)
		}
		tags[key] = value
	}
	return tags, nil
}

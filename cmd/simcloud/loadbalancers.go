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

	"github.com/fairlead-k8s/fairlead/simulator"
)

var loadBalancers = resource[simulator.LoadBalancer]{
	what:     "load balancer",
	list:     "simcloud lb list",
	none:     "No load balancers. `simcloud lb create NAME` creates one.",
	all:      (*simulator.Client).LoadBalancers,
	identify: func(l simulator.LoadBalancer) (id, name, state string) { return l.ID, l.Name, string(l.State) },
	head:     []string{"ID", "NAME", "STATE", "ADDRESS", "LISTENERS", "BACKENDS", "TAGS"},
	row: func(l simulator.LoadBalancer) []string {
		return []string{l.ID, l.Name, string(l.State), orNone(l.Address, "-"), listenerList(l), backendCount(l), pairList(l.Tags)}
	},
}

func newLoadBalancer(s *session) *cobra.Command {
	c := group("lb", "Load balancers: list, show, create, backends, delete",
		loadBalancers.listing(s, "List all load balancers"),
		loadBalancers.showing(s, &cobra.Command{
			Short: "Show one load balancer, the health of its backends, and its traffic",
			Long: `Show one load balancer, the health of its backends and its traffic.

If the cloud may not listen at a low port, the listener listens at another port, which is shown after "at".`,
		}, loadBalancerDetails),
		newLoadBalancerCreate(s), newLoadBalancerBackends(s),
		loadBalancers.deleting(s, &cobra.Command{
			Use:     "delete ID|NAME",
			Aliases: []string{"rm"},
			Short:   "Delete a load balancer and cut its connections",
		}, (*simulator.Client).DeleteLoadBalancer, "deleted"))
	c.Aliases = []string{"load-balancer"}
	return c
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
		return s.reportLoadBalancer(out, created, "created, and is")
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
	complete(c, cobra.NoFileCompletions, "listen", "source-range", "tag", "check")
	complete(c, instances.names(s), "backend")
	complete(c, staticIPs.names(s), "static-ip")
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
	for _, word := range o.listeners {
		listener, err := parseListener(word)
		if err != nil {
			return l, fmt.Errorf("listener %q: want [TCP:|UDP:]PORT:BACKEND-PORT, such as 80:30080", word)
		}
		l.Listeners = append(l.Listeners, listener)
	}
	if l.HealthCheck, err = parseCheck(o.check); err != nil {
		return l, err
	}
	if l.Tags, err = parsePairs("tag", "owner=me", o.tags); err != nil {
		return l, err
	}
	if l.Backends, err = instanceIDs(ctx, client, o.backends); err != nil || o.staticIP == "" {
		return l, err
	}
	static, err := staticIPs.find(ctx, client, o.staticIP)
	l.StaticIP = static.ID
	return l, err
}

func parseListener(word string) (l simulator.Listener, err error) {
	protocol, ports, found := strings.Cut(word, ":")
	if !strings.Contains(ports, ":") {
		protocol, ports = string(simulator.TCP), word
	}
	port, backendPort, _ := strings.Cut(ports, ":")
	l.Protocol = simulator.Protocol(strings.ToUpper(protocol))
	if l.Port, err = strconv.Atoi(port); err != nil || !found {
		return l, errors.New("no port")
	}
	l.BackendPort, err = strconv.Atoi(backendPort)
	return l, err
}

func parseCheck(word string) (check simulator.HealthCheck, err error) {
	if word == "" {
		return check, nil
	}
	digits, path, found := strings.Cut(word, "/")
	if check.Port, err = strconv.Atoi(digits); err != nil {
		return check, fmt.Errorf("check %q: want PORT or PORT/PATH, such as 31999/healthz", word)
	}
	if found {
		check.Path = "/" + path
	}
	return check, nil
}

func newLoadBalancerBackends(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:   "backends ID|NAME [INSTANCE...]",
		Short: "Replace the backends of a load balancer",
		Long:  "Replace all backends of a load balancer, given by ID or name. Without instances, all backends are removed.",
		Example: `  simcloud lb backends web node-1 node-3
  simcloud lb backends web`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: firstAndRest(loadBalancers.names(s), instances.names(s)),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		l, err := loadBalancers.find(ctx, client, args[0])
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
		return s.reportLoadBalancer(out, changed, "is now")
	})
}

// instanceIDs finds instances by ID or name. It never returns nil.
func instanceIDs(ctx context.Context, client *simulator.Client, words []string) ([]string, error) {
	ids := []string{}
	for _, word := range words {
		i, err := instances.find(ctx, client, word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, i.ID)
	}
	return ids, nil
}

func loadBalancerDetails(l simulator.LoadBalancer) [][]string {
	rows := [][]string{
		{"ID:", l.ID},
		{"Name:", l.Name},
		{"State:", string(l.State)},
		{"Address:", orNone(l.Address, "none yet")},
		{"Static IP:", orNone(l.StaticIP, "none")},
	}
	for n, listener := range l.Listeners {
		rows = append(rows, append([]string{heading(n, "Listeners:")}, listenerDetails(l, listener)...))
	}
	for n, backend := range backendDetails(l) {
		rows = append(rows, append([]string{heading(n, "Backends:")}, backend...))
	}
	affinity, drain := "none", "the cloud's own"
	if l.Affinity != 0 {
		affinity = l.Affinity.String()
	}
	if l.Drain != nil {
		drain = l.Drain.String()
	}
	rows = append(rows,
		[]string{"Source ranges:", strings.Join(l.SourceRanges, ",")},
		[]string{"Affinity:", affinity},
		[]string{"Health check:", checkText(l.HealthCheck)},
		[]string{"Drain:", drain},
	)
	return append(rows, pairRows("Tags:", l.Tags)...)
}

// reportLoadBalancer prints a load balancer that a command has changed.
func (s *session) reportLoadBalancer(out io.Writer, l simulator.LoadBalancer, what string) error {
	return s.report(out, l, "Load balancer %s (%s) %s %s: %s, %s, backends %s", l.ID, l.Name, what, l.State,
		orNone(l.Address, "no address yet"), listenerList(l), orNone(strings.Join(l.Backends, ","), "none"))
}

func listenerList(l simulator.LoadBalancer) string {
	var words []string
	for _, listener := range l.Listeners {
		port := strconv.Itoa(listener.Port)
		switch t := trafficOf(l, listener); {
		case t.Problem != "":
			port += "(failed)"
		case t.Address != "" && !strings.HasSuffix(t.Address, ":"+port):
			port += "(at " + t.Address[strings.LastIndex(t.Address, ":")+1:] + ")"
		}
		words = append(words, fmt.Sprintf("%s/%s->%d", listener.Protocol, port, listener.BackendPort))
	}
	return strings.Join(words, ",")
}

// trafficOf returns the traffic of a listener. The result is empty if the load
// balancer carries no traffic.
func trafficOf(l simulator.LoadBalancer, listener simulator.Listener) (none simulator.ListenerTraffic) {
	if l.Traffic == nil {
		return none
	}
	for _, t := range l.Traffic.Listeners {
		if t.Protocol == listener.Protocol && t.Port == listener.Port {
			return t
		}
	}
	return none
}

func listenerDetails(l simulator.LoadBalancer, listener simulator.Listener) []string {
	words := []string{fmt.Sprintf("%s %d -> %d", listener.Protocol, listener.Port, listener.BackendPort)}
	t := trafficOf(l, listener)
	switch {
	case t.Problem != "":
		words = append(words, t.Problem)
	case t.Address != "":
		words = append(words, "at "+t.Address, fmt.Sprintf("%d connections, %d denied, %d rejected", t.Connections, t.Denied, t.Rejected))
	}
	return words
}

func backendCount(l simulator.LoadBalancer) string {
	if l.Traffic == nil {
		return strconv.Itoa(len(l.Backends))
	}
	healthy := 0
	for _, b := range l.Traffic.Backends {
		if b.Health == simulator.BackendHealthy {
			healthy++
		}
	}
	return fmt.Sprintf("%d of %d healthy", healthy, len(l.Backends))
}

func backendDetails(l simulator.LoadBalancer) [][]string {
	var rows [][]string
	if l.Traffic == nil {
		for _, id := range l.Backends {
			rows = append(rows, []string{id})
		}
	} else {
		for _, b := range l.Traffic.Backends {
			health := string(b.Health)
			if b.Why != "" {
				health += ": " + b.Why
			}
			rows = append(rows, []string{b.Instance, health, fmt.Sprintf("%d open, %d connections, %d failures, %d bytes in, %d out",
				b.Open, b.Connections, b.Failures, b.BytesIn, b.BytesOut)})
		}
	}
	if rows == nil {
		rows = [][]string{{"none"}}
	}
	return rows
}

func checkText(h simulator.HealthCheck) string {
	switch {
	case h.Port == 0:
		return "TCP, each backend port"
	case h.Path == "":
		return fmt.Sprintf("TCP %d", h.Port)
	}
	return fmt.Sprintf("HTTP %d%s", h.Port, h.Path)
}

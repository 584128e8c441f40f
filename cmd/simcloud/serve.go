package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// By default, the command "serve" listens at defaultAddress, and all other commands
// call this address.
const defaultAddress = "127.0.0.1:7640"

// serveOptions are the flags of the command "serve".
type serveOptions struct {
	config      simulator.Config
	listen      string
	allowRemote bool
	latency     time.Duration
	jitter      time.Duration
	quota       quotaOptions
	staleReads  time.Duration
	verbosity   int
	clusterView string
}

func newServe() *cobra.Command {
	var o serveOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run a simulated cloud until it is interrupted",
		Long: `Run a simulated cloud until it is interrupted.

When the cloud is ready, it prints one line with its URL. A browser at that URL
shows the resources, each call as it arrives, and switches for the faults. Changes
in the cloud are logged to standard error. With --state-file, resources are kept
when the cloud ends; without it they are lost. Faults that are set later are lost in
any case.

A request quota has buckets. A bucket has a rate and a burst, and limits some calls. A
call needs a token of each bucket that limits it. With --quota=NUMBER, one bucket
limits all calls. A PROFILE has buckets as a real cloud has them: azure, digitalocean,
ec2, hcloud, linode. A FILE has buckets of your own, as YAML:

  buckets:
  - name: reads
    calls: [reads, ChangeRoutes]  # calls, or all, reads, lists, gets, changes
    rate: 10                      # calls a second
    burst: 50                     # calls at once after a pause
    tokens: 0                     # calls at once at the start; the burst if left out

Load balancers carry traffic: each listens at its own address within 127.64.0.0/10
and forwards to the InternalIP of its backends. If the process may not listen at a
port below 1024, it adds 20000 to the port ("simcloud lb show" prints it). Backends
are checked every --check-interval. A new one gets connections after its first
success. A healthy one becomes unhealthy after --unhealthy-after failures in a row,
and healthy again after --healthy-after successes in a row.`,
		Example: `  # A cloud in memory, on the default port, so that the other commands find it
  simcloud serve

  # One that is as slow and as strict as a real one, and survives a restart
  simcloud serve --latency 30ms --quota 100 --transition 20s --state-file cloud.json

  # One with the request quota of a real one, which is used up at the start
  simcloud serve --quota ec2 --quota-empty

  # One with an account that is almost full, whose load balancers take a while
  simcloud serve --max-load-balancers 2 --max-backends 3 --provisioning 30s --drain 1m

  # One whose routes become visible after a while, and whose table is almost full
  simcloud serve --stale-reads 5s --max-routes 10

  # On a free port, for a test
  simcloud serve --listen 127.0.0.1:0 --seed 1`,
		Args:              typo.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	addServeFlags(command.Flags(), &o)
	return command
}

func addServeFlags(f *pflag.FlagSet, o *serveOptions) {
	f.StringVar(&o.listen, "listen", defaultAddress, "address and port to listen on; port 0 chooses a free one")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "allow a --listen address that other machines can reach; there is no authentication")
	f.StringSliceVar(&o.config.AllowedHosts, "allow-host", nil, "names by which the cloud may be reached, beside localhost and IP addresses; others are refused, because a website can point its name at this machine")
	f.StringVar(&o.clusterView, "cluster-view", "", "URL on this machine that describes a cluster; the page shows it beside the cloud, to everybody who can reach the page. The demo of the playground has one")
	f.StringVar(&o.config.StateFile, "state-file", "", "file that keeps all resources across restarts; without it they are lost")
	f.Uint64Var(&o.config.Seed, "seed", 0, "seed of all random numbers; with the same seed, the same calls in the same order meet the same faults")
	f.IntVar(&o.config.PageSize, "page-size", simulator.DefaultPageSize, "default and maximum number of items on a page of a list")
	f.DurationVar(&o.config.Transition, "transition", 0, "how long an instance is pending and stopping; 0 skips these states")
	f.DurationVar(&o.config.TerminatedFor, "terminated-for", 0, "how long a terminated instance is still listed")
	f.DurationVar(&o.latency, "latency", 0, "minimum duration of each call")
	f.DurationVar(&o.jitter, "jitter", 0, "maximum of a random time that is added to --latency")
	f.StringVar(&o.quota.quota, "quota", "", "allowed calls a second, or a `PROFILE or FILE` with the buckets of a quota; more calls are answered 429 with Retry-After; empty or 0 means no limit")
	f.IntVar(&o.quota.burst, "quota-burst", 0, "calls that a quota with one number allows at once; 0 means twice --quota")
	f.BoolVar(&o.quota.empty, "quota-empty", false, "start with empty buckets, as if the quota had just been used up")
	f.DurationVar(&o.staleReads, "stale-reads", 0, "answer reads with the state of that long ago, like an eventually consistent cloud")
	addLoadBalancerFlags(f, o)
	f.IntVar(&o.config.MaxRoutes, "max-routes", 0, "how many routes the table may have; 0 means no limit")
	f.BoolVar(&o.config.UniqueRoutes, "unique-routes", false, "allow only one route for each destination, as some clouds do; otherwise there may be several")
	f.IntVarP(&o.verbosity, "verbosity", "v", 0, "verbosity of the log: 4 logs each call")
}

func addLoadBalancerFlags(f *pflag.FlagSet, o *serveOptions) {
	f.BoolVar(&o.config.Traffic, "traffic", true, "let load balancers carry traffic; if false, nothing listens and no backend is checked")
	f.DurationVar(&o.config.Provisioning, "provisioning", 0, "how long a load balancer is pending; 0 skips this state")
	f.DurationVar(&o.config.Drain, "drain", 0, "how long a removed backend keeps its connections, if its load balancer sets no time; 0 cuts them at once")
	f.IntVar(&o.config.MaxLoadBalancers, "max-load-balancers", 0, "how many load balancers the account may have; 0 means no limit")
	f.IntVar(&o.config.MaxBackends, "max-backends", 0, "how many backends a load balancer may have; 0 means no limit")
	f.DurationVar(&o.config.Checks.Interval, "check-interval", time.Second, "pause between two health checks of a backend")
	f.DurationVar(&o.config.Checks.Timeout, "check-timeout", time.Second, "how long a health check may take")
	f.IntVar(&o.config.Checks.HealthyAfter, "healthy-after", 2, "how many successes in a row make a backend healthy again")
	f.IntVar(&o.config.Checks.UnhealthyAfter, "unhealthy-after", 3, "how many failures in a row make a backend unhealthy")
}

// run serves until the context ends. It writes one line for programs to out, and one
// line for people to hint.
func (o serveOptions) run(ctx context.Context, out, hint io.Writer) error {
	if err := o.setVerbosity(); err != nil {
		return err
	}
	address, err := o.address()
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.config.Standing, err = o.standing(); err != nil {
		return err
	}
	if o.config.Cluster, err = clusterAt(o.clusterView); err != nil {
		return fmt.Errorf("--cluster-view: %w", err)
	}
	for n, name := range o.config.AllowedHosts {
		o.config.AllowedHosts[n] = strings.TrimSuffix(strings.ToLower(name), ".")
	}
	cloud, err := simulator.New(o.config)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen: something listens at %s already, perhaps another simulated cloud; 127.0.0.1:0 is a free port", address)
	}
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if _, err := fmt.Fprintf(out, "simcloud: listening on http://%s\n", listener.Addr()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(hint, "simcloud: a browser at http://%s shows this cloud live\n", listener.Addr()); err != nil {
		return err
	}
	return cloud.Serve(ctx, listener)
}

// check returns an error if a number or a file is wrong.
func (o serveOptions) check() error {
	if o.latency < 0 || o.jitter < 0 {
		return fmt.Errorf("--latency and --jitter must not be negative, but got %v and %v", o.latency, o.jitter)
	}
	if o.config.PageSize < 1 {
		return fmt.Errorf("--page-size must be at least 1, but got %d", o.config.PageSize)
	}
	if o.config.StateFile != "" {
		if folder := filepath.Dir(o.config.StateFile); !isFolder(folder) {
			return fmt.Errorf("--state-file: there is no folder %q; create it, or choose another file", folder)
		}
		if isFolder(o.config.StateFile) {
			return fmt.Errorf("--state-file: %q is a folder; choose a file in it", o.config.StateFile)
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// standing returns the permanent faults of the cloud.
func (o serveOptions) standing() ([]simulator.Fault, error) {
	var faults []simulator.Fault
	if o.latency != 0 || o.jitter != 0 {
		faults = append(faults, simulator.Fault{
			Name: "--latency", Kind: simulator.FaultLatency,
			Latency: simulator.Duration(o.latency), Jitter: simulator.Duration(o.jitter),
		})
	}
	buckets, err := o.quota.buckets()
	faults = append(faults, buckets...)
	if o.staleReads != 0 {
		faults = append(faults, simulator.Fault{Name: "--stale-reads", Kind: simulator.FaultStale, Age: simulator.Duration(o.staleReads)})
	}
	return faults, err
}

func (o serveOptions) setVerbosity() error {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	return flags.Set("v", strconv.Itoa(o.verbosity))
}

// address returns the address to listen on. Without --allow-remote it refuses
// addresses that other machines can reach, because the cloud has no
// authentication.
func (o serveOptions) address() (string, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return "", fmt.Errorf("%w; give an address and a port, such as %s", err, defaultAddress)
	}
	if o.allowRemote || host == "localhost" {
		return o.listen, nil
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is not a loopback address; --allow-remote lets other machines in, without any authentication", host)
	}
	return o.listen, nil
}

// quotaOptions are the flags of the request quota.
type quotaOptions struct {
	// quota is a number, the name of a profile, or a file.
	quota string
	burst int
	empty bool
}

// buckets returns the buckets of the quota as permanent faults.
func (o quotaOptions) buckets() ([]simulator.Fault, error) {
	buckets, err := o.full()
	if err != nil {
		return nil, err
	}
	for n := range buckets {
		if o.empty {
			buckets[n].Tokens = new(int)
		}
	}
	return buckets, nil
}

// full returns the buckets without regard to the flag --quota-empty.
func (o quotaOptions) full() ([]simulator.Fault, error) {
	if rate, err := strconv.ParseFloat(o.quota, 64); err == nil || o.quota == "" {
		return o.one(rate), nil
	}
	if o.burst != 0 {
		return nil, fmt.Errorf("--quota-burst needs a number for --quota, not %s, which has its own", o.quota)
	}
	buckets, known := simulator.QuotaProfile(o.quota)
	if !known {
		text, err := os.ReadFile(o.quota)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("--quota: %q is not a number, not a profile (%s), and there is no such file", o.quota, strings.Join(simulator.QuotaProfiles(), ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("--quota: %w", err)
		}
		if buckets, err = simulator.ParseQuota(text); err != nil {
			return nil, fmt.Errorf("--quota: %s: %w", o.quota, err)
		}
	}
	for n := range buckets {
		buckets[n].Name = "--quota:" + buckets[n].Name
	}
	return buckets, nil
}

// one returns the only bucket of a quota that is a number. It returns no bucket if there
// is no quota.
func (o quotaOptions) one(rate float64) []simulator.Fault {
	if rate == 0 && o.burst == 0 {
		return nil
	}
	burst := o.burst
	if burst == 0 {
		burst = int(math.Ceil(2 * rate))
	}
	return []simulator.Fault{{Name: "--quota", Kind: simulator.FaultThrottle, Rate: rate, Burst: burst}}
}

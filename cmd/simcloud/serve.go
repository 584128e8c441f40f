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
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// defaultAddress is where serve listens and the other commands look.
const defaultAddress = "127.0.0.1:7640"

// serveOptions are the flags of serve.
type serveOptions struct {
	listen      string
	allowRemote bool
	stateFile   string
	seed        uint64
	pageSize    int
	transition  time.Duration
	terminated  time.Duration
	latency     time.Duration
	jitter      time.Duration
	quota       float64
	quotaBurst  int
	staleReads  time.Duration
	verbosity   int
}

func newServe() *cobra.Command {
	var o serveOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run a simulated cloud until it is interrupted",
		Long: `Run a simulated cloud until it is interrupted.

When it is ready it prints one line with its URL. What happens in it is logged to
standard error. Faults that are set later are forgotten when it ends; instances
are too, unless they have a state file.`,
		Example: `  # A cloud in memory, on the default port, so that the other commands find it
  simcloud serve

  # One that is as slow and as strict as a real one, and survives a restart
  simcloud serve --latency 30ms --quota 100 --transition 20s --state-file cloud.json

  # On a free port, for a test
  simcloud serve --listen 127.0.0.1:0 --seed 1`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout())
		},
	}
	f := command.Flags()
	f.StringVar(&o.listen, "listen", defaultAddress, "address and port to listen on; port 0 is a free one")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "allow --listen to be reached from other machines; there is no authentication")
	f.StringVar(&o.stateFile, "state-file", "", "file that keeps the instances across restarts; without it they are lost")
	f.Uint64Var(&o.seed, "seed", 0, "seed of all randomness: the same calls in the same order meet the same faults")
	f.IntVar(&o.pageSize, "page-size", simulator.DefaultPageSize, "default and largest size of a page of a list")
	f.DurationVar(&o.transition, "transition", 0, "how long an instance is pending and stopping; 0 means not at all")
	f.DurationVar(&o.terminated, "terminated-for", 0, "how long a terminated instance is still listed")
	f.DurationVar(&o.latency, "latency", 0, "how long each call takes at least")
	f.DurationVar(&o.jitter, "jitter", 0, "how much longer a call may take, at random")
	f.Float64Var(&o.quota, "quota", 0, "calls a second that the cloud allows; more are answered 429 with Retry-After; 0 means no limit")
	f.IntVar(&o.quotaBurst, "quota-burst", 0, "calls at once that the quota allows after a rest; 0 means twice --quota")
	f.DurationVar(&o.staleReads, "stale-reads", 0, "answer reads with what was true that long ago, as an eventually consistent cloud does")
	f.IntVarP(&o.verbosity, "verbosity", "v", 0, "verbosity of the log: 4 logs each call")
	return command
}

func (o serveOptions) run(ctx context.Context, out io.Writer) error {
	if err := o.setVerbosity(); err != nil {
		return err
	}
	address, err := o.address()
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	cloud, err := simulator.New(simulator.Config{
		Seed:          o.seed,
		StateFile:     o.stateFile,
		PageSize:      o.pageSize,
		Transition:    o.transition,
		TerminatedFor: o.terminated,
		Standing:      o.standing(),
	})
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
	return cloud.Serve(ctx, listener)
}

// standing are the faults that are part of the cloud.
func (o serveOptions) standing() []simulator.Fault {
	var faults []simulator.Fault
	if o.latency != 0 || o.jitter != 0 {
		faults = append(faults, simulator.Fault{
			Name: "--latency", Kind: simulator.FaultLatency,
			Latency: simulator.Duration(o.latency), Jitter: simulator.Duration(o.jitter),
		})
	}
	if o.quota != 0 || o.quotaBurst != 0 {
		burst := o.quotaBurst
		if burst == 0 {
			burst = int(math.Ceil(2 * o.quota))
		}
		faults = append(faults, simulator.Fault{Name: "--quota", Kind: simulator.FaultThrottle, Rate: o.quota, Burst: burst})
	}
	if o.staleReads != 0 {
		faults = append(faults, simulator.Fault{Name: "--stale-reads", Kind: simulator.FaultStale, Age: simulator.Duration(o.staleReads)})
	}
	return faults
}

func (o serveOptions) setVerbosity() error {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	return flags.Set("v", strconv.Itoa(o.verbosity))
}

// address refuses what other machines can reach: whoever reaches the cloud is
// its operator.
func (o serveOptions) address() (string, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return "", fmt.Errorf("%w; give an address and a port, such as %s", err, defaultAddress)
	}
	if o.allowRemote || host == "localhost" {
		return o.listen, nil
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is no loopback address; --allow-remote lets other machines in, without any authentication", host)
	}
	return o.listen, nil
}

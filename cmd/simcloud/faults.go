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
	"github.com/spf13/pflag"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newFault(s *session) *cobra.Command {
	return group("fault", "Make calls fail on purpose: set, list, clear", newFaultSet(s), newFaultList(s), newFaultClear(s))
}

const faultKindsHelp = `Kinds of faults, in the order in which they act on a call:
  latency        the call waits for --latency plus up to --jitter
  hang           the call hangs until its caller gives up or the fault is cleared
  reset          the connection is reset before anything is done
  throttle       429 with Retry-After above --rate calls a second; allows --burst calls at once,
                 and --tokens calls at once now
  outage         503
  denied         403, or 401 with --status
  error          500
  notFound       404 to every call
  stale          reads are answered with the state of --age ago
  invisible      a resource is not seen until it is --age old
  emptyList      lists are empty
  truncatedList  the last --fraction of a page is missing, and so are later pages
  doubledList    a page has its items twice, the last one first
  lostReply      the call is carried out, but the connection is cut before the answer`

func newFaultSet(s *session) *cobra.Command {
	var f simulator.Fault
	var calls []string
	const full = -1
	tokens := full
	c := s.command(&cobra.Command{
		Use:   "set KIND",
		Short: "Switch a fault on, or change it",
		Long: `Switch a fault on, or change the one of the same name. Faults hit only calls of
customers. They hit this tool only with --as customer.

` + faultKindsHelp,
		Example: `  # Each second call fails
  simcloud fault set error --probability 0.5

  # The next creation is carried out, but its caller gets no answer
  simcloud fault set lostReply --calls CreateInstance --count 1

  # One instance is missing in lists
  simcloud fault set emptyList --match node-2

  # Credentials have expired
  simcloud fault set denied --status 401`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(cobra.FixedCompletions(words(simulator.FaultKinds()), cobra.ShellCompDirectiveNoFileComp)),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		f.Kind = simulator.FaultKind(args[0])
		if f.Name == "" {
			f.Name = args[0]
		}
		for _, call := range calls {
			f.Calls = append(f.Calls, simulator.Call(call))
		}
		if tokens != full {
			f.Tokens = &tokens
		}
		if err := client.SetFault(ctx, f); err != nil {
			return err
		}
		return s.report(out, f, "Fault %s is set. `simcloud fault clear %s` clears it.", f.Name, f.Name)
	})
	addFaultFlags(c.Flags(), &f)
	c.Flags().StringSliceVar(&calls, "calls", nil, "calls that the fault hits, such as GetInstance,ListInstances; default is all")
	c.Flags().IntVar(&tokens, "tokens", full, "for throttle: allowed calls at once now; -1 means --burst")
	complete(c, cobra.FixedCompletions(words(simulator.CallNames()), cobra.ShellCompDirectiveNoFileComp), "calls")
	complete(c, anyNames(s), "match")
	complete(c, cobra.FixedCompletions([]string{"401", "403"}, cobra.ShellCompDirectiveNoFileComp), "status")
	return c
}

// addFaultFlags adds the flags whose values are fields of the fault as they are.
func addFaultFlags(flags *pflag.FlagSet, f *simulator.Fault) {
	flags.StringVar(&f.Name, "name", "", "name, needed for several faults of one kind; default is the kind")
	flags.StringVar(&f.Match, "match", "", "hit only resources whose ID or name matches this pattern, such as 'node-1*'")
	flags.IntVar(&f.Skip, "skip", 0, "number of calls to let pass before the first hit")
	flags.IntVar(&f.Count, "count", 0, "maximum number of calls to hit; 0 means no limit")
	flags.Float64Var(&f.Probability, "probability", 0, "probability of hitting a call, at most 1; 0 means always")
	flags.DurationVar((*time.Duration)(&f.Latency), "latency", 0, "for latency: how long calls wait")
	flags.DurationVar((*time.Duration)(&f.Jitter), "jitter", 0, "for latency: maximum of a random time that is added")
	flags.Float64Var(&f.Rate, "rate", 0, "for throttle: allowed calls a second")
	flags.IntVar(&f.Burst, "burst", 0, "for throttle: allowed calls at once; default is the calls of one second")
	flags.IntVar(&f.Status, "status", 0, "for denied: 401 or 403 (default 403)")
	flags.Float64Var(&f.Fraction, "fraction", 0, "for truncatedList: the part of a page that is missing (default 0.5)")
	flags.DurationVar((*time.Duration)(&f.Age), "age", 0, "for stale and invisible: age (default 1m0s)")
}

func words[T ~string](values []T) []string {
	var all []string
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}

func newFaultList(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the faults that are set, and how many calls each has hit",
		Long: `List the faults that are set, and how many calls each has hit.

Last come those that the flags of "simcloud serve" have set. They cannot be cleared.
For the buckets of a request quota, "tokens" is the number of calls that are allowed
at once now.`,
		Args: typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		all, err := client.Faults(ctx)
		if err != nil {
			return err
		}
		standing, err := client.StandingFaults(ctx)
		if err != nil {
			return err
		}
		if s.output == jsonOutput {
			return printJSON(out, struct {
				Items    []simulator.Fault `json:"items"`
				Standing []simulator.Fault `json:"standing,omitempty"`
			}{all, standing})
		}
		all = append(all, standing...)
		if len(all) == 0 {
			return s.say(out, "No faults. `simcloud fault set KIND` sets one.")
		}
		rows := [][]string{{"NAME", "KIND", "CALLS", "MATCH", "HITS", "DETAILS"}}
		for _, f := range all {
			hits := strconv.Itoa(f.Hits)
			if f.Count > 0 {
				hits += " of " + strconv.Itoa(f.Count)
			}
			rows = append(rows, []string{f.Name, string(f.Kind), faultCalls(f), orNone(f.Match, "all"), hits, faultDetails(f)})
		}
		return printTable(out, rows)
	})
}

// faultCalls returns the calls that a fault can hit. It only counts them if their names
// would make the table too wide.
func faultCalls(f simulator.Fault) string {
	const most = 5
	if len(f.Calls) > most {
		return fmt.Sprintf("%d kinds", len(f.Calls))
	}
	return orNone(strings.Join(words(f.Calls), ","), "all")
}

// faultDetails returns the settings that only some faults have.
func faultDetails(f simulator.Fault) string {
	var details []string
	tokens := 0
	if f.Tokens != nil {
		tokens = *f.Tokens
	}
	for _, d := range []struct {
		name  string
		set   bool
		value any
	}{
		{"skip", f.Skip != 0, f.Skip},
		{"probability", f.Probability != 0, f.Probability},
		{"latency", f.Latency != 0, f.Latency},
		{"jitter", f.Jitter != 0, f.Jitter},
		{"rate", f.Rate != 0, f.Rate},
		{"burst", f.Burst != 0, f.Burst},
		{"tokens", f.Tokens != nil, tokens},
		{"status", f.Status != 0, f.Status},
		{"fraction", f.Fraction != 0, f.Fraction},
		{"age", f.Age != 0, f.Age},
	} {
		if d.set {
			details = append(details, fmt.Sprintf("%s=%v", d.name, d.value))
		}
	}
	return strings.Join(details, " ")
}

func newFaultClear(s *session) *cobra.Command {
	return s.command(&cobra.Command{
		Use:               "clear [NAME]",
		Short:             "Clear one fault, or all; calls that hang because of it continue",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(faultNames(s)),
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error {
		if len(args) == 0 {
			if err := client.ClearFaults(ctx); err != nil {
				return err
			}
			return s.say(out, "All faults are cleared.")
		}
		if err := client.ClearFault(ctx, args[0]); err != nil {
			if simulator.IsNotFound(err) {
				return errors.New("no fault is named " + args[0] + "; `simcloud fault list` shows all")
			}
			return err
		}
		return s.say(out, "Fault %s is cleared.", args[0])
	})
}

func faultNames(s *session) cobra.CompletionFunc {
	return s.suggest(func(ctx context.Context, client *simulator.Client) ([]string, error) {
		all, err := client.Faults(ctx)
		var names []string
		for _, f := range all {
			names = append(names, cobra.CompletionWithDesc(f.Name, string(f.Kind)))
		}
		return names, err
	})
}

func newCalls(s *session) *cobra.Command {
	var reset bool
	var last int
	c := s.command(&cobra.Command{
		Use:   "calls",
		Short: "Show the calls of customers, how often they were made, and their results",
		Example: `  simcloud calls
  simcloud calls --last 200
  simcloud calls --reset`,
		Args: typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		if last < 0 {
			return fmt.Errorf("--last must not be negative, but got %d", last)
		}
		report, err := client.Calls(ctx)
		if err != nil {
			return err
		}
		if err := s.printCalls(out, report, last); err != nil || !reset {
			return err
		}
		return client.ResetCalls(ctx)
	})
	c.Flags().BoolVar(&reset, "reset", false, "forget the calls after they are shown")
	c.Flags().IntVar(&last, "last", 10, "how many of the last calls to show; the cloud remembers 200")
	return c
}

func (s *session) printCalls(out io.Writer, report simulator.CallReport, last int) error {
	if s.output == jsonOutput {
		return printJSON(out, report)
	}
	if len(report.Counters) == 0 {
		return s.say(out, "No calls. What this tool does is counted only with --as customer.")
	}
	rows := [][]string{{"CALL", "RESULT", "COUNT"}}
	for _, c := range report.Counters {
		rows = append(rows, []string{string(c.Call), c.Result, strconv.FormatInt(c.Count, 10)})
	}
	if recent := report.Last[max(0, len(report.Last)-last):]; len(recent) > 0 {
		if err := printTable(out, append(rows, nil)); err != nil {
			return err
		}
		rows = [][]string{{"TIME", "CALL", "RESOURCE", "STATUS", "RESULT", "DURATION"}}
		for _, r := range recent {
			rows = append(rows, []string{
				r.Time.Local().Format("15:04:05.000"), string(r.Call), orNone(r.Resource(), "-"),
				strconv.Itoa(r.Status), r.Result, time.Duration(r.Duration).Round(10 * time.Microsecond).String(),
			})
		}
	}
	return printTable(out, rows)
}

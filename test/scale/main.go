// Command scale measures Fairlead and the community's skeleton of a
// cloud-controller-manager side by side: against a real control plane, a
// simulated cloud, and plain Node objects without kubelets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM) //nolint:forbidigo // it is main
	err := run(ctx, os.Args[1:], clock.RealClock{})
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // it is main
	}
}

// options are the flags of the command line.
type options struct {
	settings   scenario.Settings
	flags      map[string]string // all that decide what is measured
	bin        string
	scenarios  string
	contenders string
	errors     string
	sideBySide int
	output     string
	jsonFile   string
	writeTo    string
	name       string
	keepLogs   bool
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.bin, "bin", "bin", "folder with all programs, as make builds them")
	fs.StringVar(&o.scenarios, "scenario", "", "scenarios to run, such as init,idle or lies; empty for all")
	fs.StringVar(&o.contenders, "contender", "", "contenders to run: fairlead, skeleton; empty for both")
	fs.StringVar(&o.errors, "errors", "", "what the provider's errors look like where that matters: typed, text, unreadable; empty for all")
	fs.IntVar(&o.settings.Nodes, "nodes", 500, "Nodes in each cluster")
	fs.IntVar(&o.settings.Services, "services", 100, "Services in the scenarios about them")
	fs.DurationVar(&o.settings.Latency, "latency", 30*time.Millisecond, "how long each call of the cloud takes")
	fs.IntVar(&o.settings.Quota, "quota", 100, "calls a second that the cloud allows")
	fs.IntVar(&o.settings.Burst, "quota-burst", 200, "calls at once that the cloud allows after a rest")
	fs.DurationVar(&o.settings.IdleFor, "idle-for", time.Minute, "how long nothing happens in scenario idle")
	fs.DurationVar(&o.settings.OutageFor, "outage-for", 30*time.Second, "how long the outage lasts")
	fs.DurationVar(&o.settings.LieFor, "lie-for", 90*time.Second, "how long the cloud lies, at most")
	fs.DurationVar(&o.settings.MassLimit, "mass-removal-within", 4*time.Minute, "when to stop waiting in scenario mass-removal")
	fs.IntVar(&o.sideBySide, "side-by-side", 6, "how many runs that mostly wait (lies, mass-removal) run at the same time")
	fs.StringVar(&o.output, "o", "table", "what to print at the end: table or json")
	fs.StringVar(&o.jsonFile, "json", "", "file to write everything to as JSON")
	fs.StringVar(&o.writeTo, "write-to", "", "folder to write DATE-NAME.md and DATE-NAME.json to")
	fs.StringVar(&o.name, "name", "nodes", "NAME in the files of -write-to")
	fs.BoolVar(&o.keepLogs, "keep-logs", false, "keep the logs and the data of all processes, and say where they are")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.flags = map[string]string{}
	fs.VisitAll(func(f *flag.Flag) {
		if !slices.Contains([]string{"bin", "o", "json", "write-to", "name", "keep-logs"}, f.Name) {
			o.flags[f.Name] = f.Value.String()
		}
	})
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", fs.Arg(0))
	case o.settings.Nodes < 1 || o.settings.Nodes > 20000:
		return o, errors.New("-nodes must be between 1 and 20,000")
	case o.settings.Services < 1 || o.settings.Services > 5000:
		return o, errors.New("-services must be between 1 and 5,000")
	case o.settings.Quota < 1 || o.settings.Burst < 1 || o.sideBySide < 1:
		return o, errors.New("-quota, -quota-burst and -side-by-side must be positive")
	case o.output != "table" && o.output != "json":
		return o, fmt.Errorf("-o must be table or json, not %q", o.output)
	}
	return o, nil
}

func run(ctx context.Context, args []string, c clock.WithTicker) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	scenarios, err := scenario.Select(words(o.scenarios))
	if err != nil {
		return err
	}
	looks, err := chooseErrors(words(o.errors))
	if err != nil {
		return err
	}
	scenarios = scenario.WithErrors(scenarios, looks)
	contenders, err := choose(words(o.contenders))
	if err != nil {
		return err
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	programs, err := versions(ctx, o.bin, contenders)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return err
	}
	defer func() {
		if o.keepLogs {
			fmt.Fprintln(os.Stderr, "The logs are in", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	machine := report.ThisMachine()
	if machine.IsBusy() {
		fmt.Fprintf(os.Stderr, "This machine is busy (load %.1f, %d cores): times will be too long.\n", machine.Load, machine.Cores)
	}
	began := c.Now()
	bench := scenario.Bench{
		Settings: o.settings, Bin: o.bin, Dir: dir, Keep: o.keepLogs, Clock: c, SideBySide: o.sideBySide,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	rows := bench.Run(ctx, scenarios, contenders)
	result := report.Report{
		Date: began.Format(time.RFC3339), Machine: machine, Programs: programs, Flags: o.flags,
		Seconds: c.Since(began).Seconds(), Rows: rows,
	}
	if ctx.Err() != nil { // Incomplete numbers are printed, but not written as a result.
		return errors.Join(context.Cause(ctx), result.WriteTable(os.Stdout))
	}
	return errors.Join(deliver(result, o), complete(result))
}

func words(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(word string) bool { return word == "" })
}

func choose(names []string) ([]contender.Name, error) {
	if len(names) == 0 {
		return contender.Names(), nil
	}
	var chosen []contender.Name
	for _, name := range names {
		if !slices.Contains(contender.Names(), contender.Name(name)) {
			return nil, fmt.Errorf("no contender %q; there are %v", name, contender.Names())
		}
		chosen = append(chosen, contender.Name(name))
	}
	return chosen, nil
}

func chooseErrors(names []string) ([]scenario.Errors, error) {
	var chosen []scenario.Errors
	for _, name := range names {
		if !slices.Contains(scenario.AllErrors(), scenario.Errors(name)) {
			return nil, fmt.Errorf("no errors %q; there are %v", name, scenario.AllErrors())
		}
		chosen = append(chosen, scenario.Errors(name))
	}
	return chosen, nil
}

// versions runs each program for its version, which also shows that all of them
// exist.
func versions(ctx context.Context, bin string, contenders []contender.Name) ([]report.Program, error) {
	var programs []report.Program
	for _, c := range contenders {
		version, err := contender.Version(ctx, contender.Program(bin, c, contender.Simulated))
		if err != nil {
			return nil, err
		}
		programs = append(programs, report.Program{Name: string(c), Version: version})
	}
	return programs, nil
}

// deliver writes the result wherever it is wanted.
func deliver(r report.Report, o options) error {
	print := r.WriteTable
	if o.output == "json" {
		print = r.WriteJSON
	}
	errs := []error{print(os.Stdout)}
	if o.jsonFile != "" {
		errs = append(errs, write(o.jsonFile, r.WriteJSON))
	}
	if o.writeTo != "" {
		base := r.Date[:len(time.DateOnly)] + "-" + o.name
		errs = append(errs,
			write(filepath.Join(o.writeTo, base+".json"), r.WriteJSON),
			write(filepath.Join(o.writeTo, base+".md"), func(w io.Writer) error { return r.WriteMarkdown(w, base+".json") }))
	}
	return errors.Join(errs...)
}

func write(file string, content func(io.Writer) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return content(f)
}

// complete is an error where numbers are missing.
func complete(r report.Report) error {
	if failed := r.Failed(); len(failed) > 0 {
		return fmt.Errorf("without a result: %s", strings.Join(failed, ", "))
	}
	return nil
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/scenario"
)

// options are the flags of the command line.
type options struct {
	settings   scenario.Settings
	flags      map[string]string // all flags that have an effect on the results
	chosen     []scenario.Scenario
	contenders []contender.Name
	bin        string
	sideBySide int
	writeTo    string
	name       string
	keepLogs   bool
}

// restriction has the values of the flags that restrict the measurements.
type restriction struct{ scenarios, contenders, fastPaths string }

// whole reports whether nothing is restricted.
func (r restriction) whole() bool { return r == restriction{} }

// flagSet returns the flags of the command line.
func flagSet(o *options, r *restriction) *flag.FlagSet {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Parse returns the error, too.
	fs.StringVar(&o.bin, "bin", "bin", "`folder` with all programs, as make builds them")
	fs.StringVar(&r.scenarios, "scenario", "", "`scenarios` to run, such as init,idle or lies; empty for all")
	fs.StringVar(&r.contenders, "contender", "", "`contenders` to run: fairlead, skeleton; empty for both")
	fs.StringVar(&r.fastPaths, "fast-paths", "", "whether the provider has fast paths, where that matters: `on,off`; empty for both")
	fs.IntVar(&o.settings.Nodes, "nodes", 500, "Nodes in each cluster; scenarios in which more show nothing take fewer")
	fs.IntVar(&o.settings.Services, "services", 100, "Services in the scenarios about them")
	fs.DurationVar(&o.settings.Latency, "latency", 30*time.Millisecond, "how long each call of the cloud takes")
	fs.IntVar(&o.settings.Quota, "quota", 100, "calls a second that the cloud allows")
	fs.IntVar(&o.settings.Burst, "quota-burst", 200, "calls at once that the cloud allows after a rest")
	fs.DurationVar(&o.settings.IdleFor, "idle-for", 5*time.Minute, "how long nothing happens in scenario idle; 5m is the period in which both refresh each Node")
	fs.DurationVar(&o.settings.OutageFor, "outage-for", 2*time.Minute, "how long the outage lasts")
	fs.DurationVar(&o.settings.LieFor, "lie-for", 90*time.Second, "how long the cloud lies, at most")
	fs.IntVar(&o.sideBySide, "side-by-side", 0, "how many runs that mostly wait run at the same time; each takes 1 GB of memory, and 2 GB and a quarter of a core with 5,000 Nodes. 0: 10, and fewer with many Nodes, 4 with 5,000")
	fs.StringVar(&o.writeTo, "write-to", "", "`folder` to write DATE-NAME.md and DATE-NAME.json to")
	fs.StringVar(&o.name, "name", "", "`NAME` in the files of -write-to; empty for all, or the scenarios")
	fs.BoolVar(&o.keepLogs, "keep-logs", false, "keep the logs and the data of all processes, and say where they are")
	return fs
}

func parse(args []string) (options, error) {
	var o options
	var r restriction
	fs := flagSet(&o, &r)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w; -h explains all flags", err)
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag; -h explains all flags", fs.Arg(0))
	}
	o.flags = map[string]string{}
	fs.VisitAll(func(f *flag.Flag) {
		if !slices.Contains([]string{"bin", "write-to", "name", "keep-logs"}, f.Name) {
			o.flags[f.Name] = f.Value.String()
		}
	})
	if o.name == "" {
		o.name = "all"
		if !r.whole() {
			o.name = strings.Join(slices.DeleteFunc([]string{r.scenarios, r.contenders, r.fastPaths}, func(s string) bool { return s == "" }), "-")
			o.name = strings.ReplaceAll(o.name, ",", "-")
		}
	}
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return o, err
	}
	return o, errors.Join(o.check(), o.choose(r))
}

// check returns an error if a value is not allowed.
func (o *options) check() error {
	s := o.settings
	switch {
	case s.Nodes < 1 || s.Nodes > 20000:
		return fmt.Errorf("-nodes must be between 1 and 20,000, not %d", s.Nodes)
	case s.Services < 1 || s.Services > 5000:
		return fmt.Errorf("-services must be between 1 and 5,000, not %d", s.Services)
	case s.Quota < 1 || s.Burst < 1 || o.sideBySide < 0:
		return errors.New("-quota and -quota-burst must be positive, -side-by-side must not be negative")
	case min(s.Latency, s.IdleFor, s.OutageFor, s.LieFor) <= 0:
		return errors.New("-latency, -idle-for, -outage-for and -lie-for must be positive")
	case strings.ContainsAny(o.name, "/\\"):
		return fmt.Errorf("-name is a part of a file name, not %q; -write-to is the folder", o.name)
	}
	return nil
}

// choose sets the scenarios and contenders that the restriction allows.
func (o *options) choose(r restriction) error {
	selected, err := scenario.Select(words(r.scenarios))
	if err != nil {
		return err
	}
	fastPaths, err := oneOf("fast-paths", r.fastPaths, scenario.AllFastPaths())
	if err != nil {
		return err
	}
	o.contenders, err = oneOf("contender", r.contenders, contender.Names())
	if err != nil {
		return err
	}
	if len(o.contenders) == 0 {
		o.contenders = contender.Names()
	}
	o.chosen = scenario.Restrict(selected, fastPaths)
	if scenario.Count(o.chosen, o.contenders) == 0 {
		return errors.New("nothing is left to run: -scenario, -contender and -fast-paths exclude each other")
	}
	return nil
}

func words(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(word string) bool { return word == "" })
}

// oneOf returns the values of a flag. Each value must be known.
func oneOf[T ~string](name, list string, known []T) ([]T, error) {
	var chosen []T
	for _, word := range words(list) {
		if !slices.Contains(known, T(word)) {
			return nil, fmt.Errorf("-%s: there is no %q; there are %v", name, word, known)
		}
		chosen = append(chosen, T(word))
	}
	return chosen, nil
}

// help explains the command.
func help(w io.Writer) error {
	var o options
	var text strings.Builder
	text.WriteString(`Measures Fairlead and the community's skeleton of a cloud-controller-manager side
by side: with a real control plane, a simulated cloud, and plain Node objects.

  make bench                                    everything with 500 Nodes and 100 Services
  make bench NODES=5000 SERVICES=500            larger, about an hour on two cores
  make bench ARGS="-scenario init,idle"         some scenarios
  make bench ARGS="-contender fairlead -fast-paths off"

The results are printed, and written to bin/bench. docs/benchmarks/README.md says
how to read them.

Scenarios, with their sizes at these flags' defaults:
`)
	fs := flagSet(&o, &restriction{})
	for _, s := range scenario.All() {
		fmt.Fprintf(&text, "  %-29s %s\n", s.Name, s.Explain(o.settings))
	}
	text.WriteString("\nA first part of a name, such as lies, means all scenarios that begin with it.\n\nFlags:\n")
	fs.SetOutput(&text)
	fs.PrintDefaults()
	_, err := io.WriteString(w, text.String())
	return err
}

package app

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
)

type controllerOptions struct {
	known         table
	chosen        []string
	resync        time.Duration
	startInterval time.Duration
}

func newControllerOptions(known table) controllerOptions {
	return controllerOptions{known: known, chosen: []string{"*"}, resync: 12 * time.Hour}
}

func (o *controllerOptions) addFlags(sections *cliflag.NamedFlagSets) {
	var names []string
	for _, r := range o.known {
		name := r.name
		if !r.onByDefault {
			name += " (off by default)"
		}
		names = append(names, name)
	}
	fs := sections.FlagSet("generic")
	fs.StringSliceVar(&o.chosen, "controllers", o.chosen,
		"Controllers to run: 'foo' runs foo, '-foo' does not, '*' runs all that are on by default. "+
			"The first entry for a controller counts.\nAll controllers: "+strings.Join(names, ", "))
	fs.DurationVar(&o.resync, "min-resync-period", o.resync,
		"Informers hand all objects to the controllers again after this time; the exact time is chosen at start, up to twice as long. 0 turns it off.")
	fs.DurationVar(&o.startInterval, "controller-start-interval", o.startInterval,
		"Time between the starts of two controllers; each wait is up to twice as long.")
}

func (o *controllerOptions) validate() []error {
	var errs []error
	for _, entry := range o.chosen {
		name := strings.TrimPrefix(entry, "-")
		if _, ok := o.known.canonical(name); !ok && entry != "*" {
			errs = append(errs, fmt.Errorf("--controllers: %q is not in the list of known controllers", name))
		}
	}
	if o.resync < 0 {
		errs = append(errs, fmt.Errorf("--min-resync-period must not be negative, but got %v", o.resync))
	}
	if o.startInterval < 0 {
		errs = append(errs, fmt.Errorf("--controller-start-interval must not be negative, but got %v", o.startInterval))
	}
	return errs
}

func (o *controllerOptions) show(c *configuration) {
	c.Generic.Controllers = o.canonical()
	c.Generic.MinResyncPeriod.Duration = o.resync
	c.Generic.ControllerStartInterval.Duration = o.startInterval
}

// canonical returns what was chosen with aliases replaced.
func (o *controllerOptions) canonical() []string {
	entries := make([]string, 0, len(o.chosen))
	for _, entry := range o.chosen {
		name, off := strings.CutPrefix(entry, "-")
		if canonical, ok := o.known.canonical(name); ok {
			name = canonical
		}
		if off {
			name = "-" + name
		}
		entries = append(entries, name)
	}
	return entries
}

// enabled returns the controllers to run, in the order of the table.
func (o *controllerOptions) enabled() table {
	entries := o.canonical()
	var enabled table
	for _, r := range o.known {
		if chosen(r.name, r.onByDefault, entries) {
			enabled = append(enabled, r)
		}
	}
	return enabled
}

// runs tells whether the controller is enabled.
func (o *controllerOptions) runs(name string) bool {
	return slices.ContainsFunc(o.enabled(), func(r registration) bool { return r.name == name })
}

// names tells whether the controller was asked for by its name.
func (o *controllerOptions) names(name string) bool { return slices.Contains(o.canonical(), name) }

// missing returns the names of enabled controllers that cannot run yet.
func (o *controllerOptions) missing() []string {
	var names []string
	for _, r := range o.enabled() {
		if r.start == nil {
			names = append(names, r.name)
		}
	}
	return names
}

// resyncPeriod spreads the resyncs of many daemons over time.
func (o *controllerOptions) resyncPeriod() time.Duration { return upToTwice(o.resync) }

func upToTwice(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + rand.Float64()))
}

// Package scenario holds what is measured, one file for each family of
// scenarios, and runs it.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
)

// Settings are the sizes of a benchmark.
type Settings struct {
	Nodes        int
	Services     int
	Latency      time.Duration // of each call of the cloud
	Quota, Burst int           // calls a second that the cloud allows, and at once after a rest
	IdleFor      time.Duration
	OutageFor    time.Duration
	LieFor       time.Duration
	MassLimit    time.Duration // for what comes after a mass removal
}

// percent is a part of the Nodes, at least one.
func (s Settings) percent(p int) int { return max(1, s.Nodes*p/100) }

// pass is how long it takes to ask the cloud about each Node in turn.
func (s Settings) pass() time.Duration { return time.Duration(s.Nodes) * s.Latency }

// Errors is what the errors of a provider look like.
type Errors string

// The looks of errors.
const (
	Typed      Errors = "typed"      // as the cloud's client returns them, with a status
	Text       Errors = "text"       // the text alone
	Unreadable Errors = "unreadable" // one text for all errors
)

// AllErrors are all looks of errors.
func AllErrors() []Errors { return []Errors{Typed, Text, Unreadable} }

// withErrors returns the scenario once for each look of errors.
func withErrors(s Scenario) []Scenario {
	typed, text, unreadable := s, s, s
	typed.Errors = Typed
	text.Errors, text.Name, text.Provider = Text, s.Name+"-text", contender.Text
	text.What = func(settings Settings) string {
		return s.What(settings) + " The provider's errors are text without a status."
	}
	unreadable.Errors, unreadable.Name, unreadable.Provider = Unreadable, s.Name+"-unreadable", contender.Unreadable
	unreadable.What = func(settings Settings) string {
		return s.What(settings) + " The provider's errors are all the same text."
	}
	return []Scenario{typed, text, unreadable}
}

// WithErrors returns the scenarios whose errors look like one of these, and
// those that do not depend on it. Without any, it returns all.
func WithErrors(all []Scenario, errors []Errors) []Scenario {
	if len(errors) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s Scenario) bool { return s.Errors != "" && !slices.Contains(errors, s.Errors) })
}

// Scenario is something that happens to a cluster.
type Scenario struct {
	Name string
	// What is a sentence for the reader.
	What func(Settings) string
	// Provider that both contenders have.
	Provider contender.Provider
	// Errors says what the provider's errors look like, empty if the scenario does
	// not depend on it.
	Errors Errors
	// Flags that are not the contender's defaults.
	Flags func(Settings, contender.Name) []string
	// Waits: nearly all of its time nothing happens, and what is measured are
	// counts. It may run beside others of its kind.
	Waits bool

	run func(context.Context, *trial) error
}

// All are all scenarios, in the order in which they are shown.
func All() []Scenario {
	return slices.Concat(withErrors(initialize), []Scenario{idle, drift, removal, massRemoval, outage}, lies, []Scenario{failover}, services, []Scenario{others},
		withErrors(routesInit), []Scenario{routesIdle})
}

// Select are the scenarios with these names. "lies" are all whose names begin
// with "lies-".
func Select(names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var selected []Scenario
	for _, s := range All() {
		if slices.ContainsFunc(names, func(name string) bool { return s.is(name) }) {
			selected = append(selected, s)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(selected, func(s Scenario) bool { return s.is(name) }) {
			return nil, fmt.Errorf("no scenario %q; there are %s", name, strings.Join(allNames(), ", "))
		}
	}
	return selected, nil
}

func (s Scenario) is(name string) bool {
	return s.Name == name || strings.HasPrefix(s.Name, name+"-")
}

func allNames() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// sameFlags are for both contenders.
func sameFlags(flags func(Settings) []string) func(Settings, contender.Name) []string {
	return func(s Settings, _ contender.Name) []string { return flags(s) }
}

// ownFlags are for Fairlead alone.
func ownFlags(flags ...string) func(Settings, contender.Name) []string {
	return func(_ Settings, n contender.Name) []string {
		if n == contender.Fairlead {
			return flags
		}
		return []string{}
	}
}

func noFlags(Settings, contender.Name) []string { return []string{} }

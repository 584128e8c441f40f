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

// Scenario is something that happens to a cluster.
type Scenario struct {
	Name string
	// What is a sentence for the reader.
	What func(Settings) string
	// Provider that both contenders have.
	Provider contender.Provider
	// Flags that are not the contender's defaults.
	Flags func(Settings, contender.Name) []string
	// Waits: nearly all of its time nothing happens, and what is measured are
	// counts. It may run beside others of its kind.
	Waits bool

	run func(context.Context, *trial) error
}

// All are all scenarios, in the order in which they are shown.
func All() []Scenario {
	return slices.Concat([]Scenario{initialize, idle, drift, removal, massRemoval, outage}, lies, []Scenario{failover}, services, routed)
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

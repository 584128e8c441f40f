// Package scenario has the scenarios of the benchmark, and runs them. There is a
// file for each family of scenarios.
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
	Quota, Burst int           // calls that the cloud allows in a second, and at once after a pause
	IdleFor      time.Duration
	OutageFor    time.Duration
	LieFor       time.Duration
}

// percent returns this percentage of the Nodes, at least one.
func (s Settings) percent(p int) int { return max(1, s.Nodes*p/100) }

// pass returns the time that the cloud needs to answer a call for each Node, one after
// the other.
func (s Settings) pass() time.Duration { return time.Duration(s.Nodes) * s.Latency }

// FastPaths is On if the provider offers optional interfaces, and Off otherwise.
type FastPaths string

// The values of FastPaths.
const (
	On  FastPaths = "on"
	Off FastPaths = "off"
)

// AllFastPaths returns both values of FastPaths.
func AllFastPaths() []FastPaths { return []FastPaths{On, Off} }

// Scenario is something that happens to a cluster.
type Scenario struct {
	Name string
	// What returns a sentence that tells readers what happens in the scenario.
	What func(Settings) string
	// Provider is the provider of both contenders.
	Provider contender.Provider
	// FastPaths describes the fast paths that the provider has. It is empty if the scenario
	// does not depend on them.
	FastPaths FastPaths
	// Quota is the profile of the cloud's request quota. If it is empty, the cloud has
	// the quota of the settings.
	Quota string
	// Kubelets makes the control plane run a kubelet for each instance. Otherwise Nodes are
	// plain objects.
	Kubelets bool
	// Flags returns the flags that differ from the contender's defaults.
	Flags func(Settings, contender.Name) []string
	// Size returns the sizes with which the scenario is run. If it is nil, the sizes of
	// the benchmark are used.
	Size func(Settings) Settings
	// Only is the only contender that is measured. Empty means both.
	Only contender.Name
	// Alone has the contenders whose times depend on the machine. Nothing else may run
	// at the same time. Quiet has the contenders whose times depend on the cloud, but
	// would be longer on a busy machine. A contender in neither field mostly waits, so
	// it runs side by side with others.
	Alone, Quiet []contender.Name

	// place returns the zone and the region of the n-th instance. If it is nil, the
	// instances are spread over three zones.
	place func(n int) (zone, region string)
	run   func(context.Context, *trial) error
}

// sized returns the sizes of the scenario.
func (s Scenario) sized(settings Settings) Settings {
	if s.Size == nil {
		return settings
	}
	return s.Size(settings)
}

// of reports whether the scenario measures the contender.
func (s Scenario) of(c contender.Name) bool { return s.Only == "" || s.Only == c }

// Explain returns the sentence of What for these sizes.
func (s Scenario) Explain(settings Settings) string { return s.What(s.sized(settings)) }

// All returns all scenarios, in the order of the tables.
func All() []Scenario {
	return slices.Concat(
		withPlain(initialize), scales(), withPlain(idle), heartbeats(), driftings(),
		removals(), []Scenario{storedPods}, withPlain(outage), lies, []Scenario{failover},
		services(), withPlain(routesInit), []Scenario{listCache}, quotas())
}

// withPlain returns the scenario twice: with fast paths, and without. The
// skeleton uses no fast paths, so it is measured only once.
func withPlain(s Scenario) []Scenario {
	plain := s
	s.FastPaths = On
	plain.FastPaths, plain.Name, plain.Only = Off, s.Name+"-plain", contender.Fairlead
	plain.What = func(settings Settings) string { return s.What(settings) + " The provider has no fast paths." }
	return []Scenario{s, plain}
}

// atMost returns a function that limits the number of Nodes. Some scenarios use it,
// because they would have the same result in a larger cluster.
func atMost(nodes int) func(Settings) Settings {
	return func(s Settings) Settings {
		s.Nodes = min(s.Nodes, nodes)
		return s
	}
}

// Restrict returns the scenarios whose field FastPaths has a value of the list. An empty
// list allows every value. Every list allows an empty field, because the scenario does not
// depend on it.
func Restrict(all []Scenario, fastPaths []FastPaths) []Scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s Scenario) bool {
		return len(fastPaths) > 0 && s.FastPaths != "" && !slices.Contains(fastPaths, s.FastPaths)
	})
}

// Select returns the scenarios with these names. Without names, it returns all
// scenarios. A name can also be a prefix: "lies" selects all scenarios whose names
// begin with "lies-".
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
			return nil, fmt.Errorf("there is no scenario %q. The scenarios are:\n  %s\nA first part of a name, such as lies, means all that begin with it",
				name, strings.Join(allNames(), "\n  "))
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

// sameFlags returns flags for both contenders.
func sameFlags(flags func(Settings) []string) func(Settings, contender.Name) []string {
	return func(s Settings, _ contender.Name) []string { return flags(s) }
}

// ownFlags returns flags for Fairlead alone.
func ownFlags(flags ...string) func(Settings, contender.Name) []string {
	return func(_ Settings, n contender.Name) []string {
		if n == contender.Fairlead {
			return flags
		}
		return []string{}
	}
}

func noFlags(Settings, contender.Name) []string { return []string{} }

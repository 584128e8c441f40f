package conformance

import (
	"slices"
	"strings"
)

// Check is one check of the suite. Its ID is permanent: a check whose meaning
// changes gets another ID.
type Check struct {
	// ID is the profile and the name, such as "instances/gone-by-id".
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// Since is the version of the suite that first had the check.
	Since string `json:"since"`
	// Title is the statement that is true if the check passes.
	Title string `json:"title"`
	// Source names the part of the contract that requires Title.
	Source string `json:"source"`
	// Cost says what a user loses if Title is not true.
	Cost string `json:"cost"`
	// Needs lists the needs that the world must meet.
	Needs []Need `json:"needs,omitempty"`
	// Feature is the optional feature that the check belongs to, if there is one.
	Feature Feature `json:"feature,omitempty"`
	// Alone means that the check runs in a child process, because the provider
	// may end the process.
	Alone bool `json:"alone,omitempty"`
	// Writes means that the check asks the provider to change the cloud.
	Writes bool `json:"writes,omitempty"`

	run func(*trial)
	// bare means that the check starts without a provider, because it makes its own.
	bare bool
	// judge, if not nil, reads the output of the child process, and returns a problem
	// with it, or "".
	judge func(target Target, output string) string
}

// Level is the severity of a failure of a check.
type Level string

// The levels.
const (
	// Core is for a check of something that a doc comment of the contract says. It is
	// also for a check of behaviour without which users lose nodes, load balancers,
	// routes or traffic.
	Core Level = "core"
	// Extended is for a check whose failure breaks a feature or makes operation
	// harder.
	Extended Level = "extended"
	// Measured is for a check that only reports a number. A failure of the check does
	// not count.
	Measured Level = "measured"
)

// Need is something that a check needs of the world.
type Need string

// The needs. A world meets a need by implementing the interface of the same name.
const (
	NeedMachines    Need = "Machines"
	NeedPowerSwitch Need = "PowerSwitch"
	NeedRenamer     Need = "Renamer"
	NeedRetagger    Need = "Retagger"
	NeedMeter       Need = "Meter"
	NeedFaulter     Need = "Faulter"
	NeedInventory   Need = "Inventory"
	NeedDrifter     Need = "Drifter"
	NeedForeigner   Need = "Foreigner"
	NeedViewer      Need = "Viewer"
	NeedHolder      Need = "Holder"
	NeedReserver    Need = "Reserver"
)

// metBy reports whether the world has the interface of the need.
func (n Need) metBy(world any) bool {
	var ok bool
	switch n {
	case NeedMachines:
		_, ok = world.(Machines)
	case NeedPowerSwitch:
		_, ok = world.(PowerSwitch)
	case NeedRenamer:
		_, ok = world.(Renamer)
	case NeedRetagger:
		_, ok = world.(Retagger)
	case NeedMeter:
		_, ok = world.(Meter)
	case NeedFaulter:
		_, ok = world.(Faulter)
	case NeedInventory:
		_, ok = world.(Inventory)
	case NeedDrifter:
		_, ok = world.(Drifter)
	case NeedForeigner:
		_, ok = world.(Foreigner)
	case NeedViewer:
		_, ok = world.(Viewer)
	case NeedHolder:
		_, ok = world.(Holder)
	case NeedReserver:
		_, ok = world.(Reserver)
	}
	return ok
}

// Profile is a group of checks, such as the checks of load balancers.
type Profile string

// The profiles. The ID of a check begins with its profile.
const (
	Instances     Profile = "instances"
	Cost          Profile = "cost"
	LoadBalancers Profile = "loadbalancers"
	Routes        Profile = "routes"
	FastPaths     Profile = "fastpaths"
	Process       Profile = "process"
)

// Profiles returns all profiles, in the order in which they run.
func Profiles() []Profile {
	return []Profile{Instances, Cost, LoadBalancers, Routes, FastPaths, Process}
}

// Profile returns the profile of the check.
func (c Check) Profile() Profile {
	profile, _, _ := strings.Cut(c.ID, "/")
	return Profile(profile)
}

// name is the ID without the profile.
func (c Check) name() string {
	_, name, _ := strings.Cut(c.ID, "/")
	return name
}

// Checks returns all checks, in the order in which they run.
func Checks() []Check {
	return slices.Concat(instanceChecks(), costChecks(), loadBalancerChecks(), routeChecks(), fastPathChecks(), processChecks())
}

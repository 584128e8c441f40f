package conformance

import "reflect"

// Check is one check of the suite. Its ID is permanent: a check whose meaning
// changes gets another ID.
type Check struct {
	// ID is the group and the name, such as "instances/gone-by-id". Each check of the group
	// "process" runs in a child process, because the provider may end the process.
	ID    string
	Level Level
	// Title is the statement that is true if the check passes.
	Title string
	// Source names the part of the contract that requires Title.
	Source string
	// Cost says what a user loses if Title is not true.
	Cost string
	// Needs lists the interfaces that the world must have.
	Needs []reflect.Type
	// Feature is the optional feature that the check belongs to, if there is one.
	Feature Feature

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

// What checks need of the world.
var (
	needMachines    = reflect.TypeFor[Machines]()
	needPowerSwitch = reflect.TypeFor[PowerSwitch]()
	needRenamer     = reflect.TypeFor[Renamer]()
	needRetagger    = reflect.TypeFor[Retagger]()
	needMeter       = reflect.TypeFor[Meter]()
	needFaulter     = reflect.TypeFor[Faulter]()
	needInventory   = reflect.TypeFor[Inventory]()
	needDrifter     = reflect.TypeFor[Drifter]()
	needForeigner   = reflect.TypeFor[Foreigner]()
	needViewer      = reflect.TypeFor[Viewer]()
	needHolder      = reflect.TypeFor[Holder]()
	needReserver    = reflect.TypeFor[Reserver]()
)

func needs(all ...reflect.Type) []reflect.Type { return all }

// lacks returns the first interface that the check needs and the world does not have, or
// nil.
func (c Check) lacks(world any) reflect.Type {
	for _, need := range c.Needs {
		if world == nil || !reflect.TypeOf(world).Implements(need) {
			return need
		}
	}
	return nil
}

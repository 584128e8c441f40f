package election

import cmconfig "k8s.io/controller-manager/config"

// Placement says where a controller runs: under one of the leases, or in another
// component.
type Placement int

// The placements of a controller.
const (
	UnderMainLease Placement = iota
	UnderMigrationLease
	Elsewhere // the controller runs in another component
)

// Place returns the placement of a controller in the plan of a leader migration.
// Without a migration, plan is nil. As with upstream, the last entry for the controller
// counts. Place calls the given function to find out whether the name of an entry is
// one of the controller's names.
func Place(plan *cmconfig.LeaderMigrationConfiguration, component string, is func(name string) bool) Placement {
	placed := UnderMainLease
	if plan == nil {
		return placed
	}
	for _, l := range plan.ControllerLeaders {
		switch {
		case !is(l.Name):
		case l.Component == component || l.Component == "*":
			placed = UnderMigrationLease
		default:
			placed = Elsewhere
		}
	}
	return placed
}

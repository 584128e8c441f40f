package daemon

import (
	"context"
	"sync"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// place returns the placement of a controller: under one of the leases, or in
// another component.
func (p *Program) place(name string) election.Placement {
	return election.Place(p.Settings.Migration.Plan(), settings.ManagerName, func(entry string) bool {
		found, ok := p.Settings.Controllers.ByAnyName(entry)
		return ok && found == name
	})
}

// runAll runs the controllers, each under its lease.
func (p *Process) runAll(ctx context.Context, made []started) {
	placed := map[election.Placement][]started{}
	for _, s := range made {
		placed[s.placement] = append(placed[s.placement], s)
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		select {
		case err := <-p.gateway.Load().RestartNeeded():
			p.fail(err)
		case <-ctx.Done():
		}
	})
	all.Go(func() { p.runControllers(ctx, placed[election.UnderMainLease]) })
	if p.migration != nil {
		all.Go(func() { p.runMigrated(ctx, placed[election.UnderMigrationLease]) })
	}
}

// runMigrated runs controllers under the second lease.
func (p *Process) runMigrated(ctx context.Context, migrated []started) {
	p.migration.RunWithin(ctx, p.election, func(ctx context.Context) { p.runControllers(ctx, migrated) })
}

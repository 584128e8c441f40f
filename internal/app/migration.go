package app

import (
	"context"
	"errors"
	"sync"
)

// placement says under which lease a controller runs while controllers move
// between components.
type placement int

const (
	underMainLease placement = iota
	underMigrationLease
	elsewhere // in another component
)

// place finds the controller in the plan. As upstream, the last entry counts.
func (m *migrationOptions) place(r registration, known table) placement {
	placed := underMainLease
	if m.plan == nil {
		return placed
	}
	for _, l := range m.plan.ControllerLeaders {
		name, ok := known.byAnyName(l.Name)
		switch {
		case !ok || name != r.name:
		case l.Component == managerName || l.Component == "*":
			placed = underMigrationLease
		default:
			placed = elsewhere
		}
	}
	return placed
}

// byAnyName returns the name of the controller that is known by its name, its
// alias, or by a client that it shares with no other: that is what the default
// plan of all controller managers calls them.
func (t table) byAnyName(name string) (string, bool) {
	if canonical, ok := t.canonical(name); ok {
		return canonical, true
	}
	var found []string
	for _, r := range t {
		if r.client == name {
			found = append(found, r.name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// runAll runs controllers, each under its lease.
func (p *process) runAll(ctx context.Context, made []started) {
	placed := map[placement][]started{}
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
	all.Go(func() { p.runControllers(ctx, placed[underMainLease]) })
	if p.migration != nil {
		all.Go(func() { p.runMigrated(ctx, placed[underMigrationLease]) })
	}
}

// runMigrated runs controllers under the second lease. While one of their
// calls is in flight it does not return, so that the main lease is kept too.
func (p *process) runMigrated(ctx context.Context, migrated []started) {
	over := make(chan struct{})
	err := p.migration.run(ctx, func(ctx context.Context) {
		defer close(over)
		p.runControllers(ctx, migrated)
	})
	if errors.Is(err, errLeaseLost) {
		p.election.lose() // Another component may be at work: the process ends at once.
	}
	if err != nil {
		<-over
	}
}

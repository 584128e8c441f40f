package settings

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/controller-manager/config/v1alpha1"
	migrationconfig "k8s.io/controller-manager/pkg/leadermigration/config"
)

const flagMigrationFile = "leader-migration-config"

// Migration has the settings of the leader migration. It moves controllers between
// components, under a second lease.
type Migration struct {
	election *Election
	enabled  bool
	file     string
	// plan is nil before validate, and without a migration.
	plan *cmconfig.LeaderMigrationConfiguration
}

func (m *Migration) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("leader-migration")
	fs.BoolVar(&m.enabled, "enable-leader-migration", m.enabled,
		"Run the controllers that --"+flagMigrationFile+" lists under a second lease, which another component can hold instead.")
	fs.StringVar(&m.file, flagMigrationFile, m.file,
		"Path to a LeaderMigrationConfiguration (controllermanager.config.k8s.io) v1, v1beta1 or v1alpha1. "+
			"Empty for the default of all controller managers.")
	deviates(fs, flagMigrationFile, "A controller may be listed by any of its names, so the default moves the controllers of routes, of Services and of the removal of nodes. "+
		"Upstream knows only the newest name of each, so its default moves only the removal of nodes.")
}

// validate reads the file and checks it.
func (m *Migration) validate() []error {
	m.plan = nil
	switch {
	case !m.enabled:
		return nil
	case !m.election.LeaderElect:
		return []error{errors.New("--enable-leader-migration needs --leader-elect")}
	case m.file == "":
		m.plan = migrationconfig.DefaultLeaderMigrationConfiguration()
		return m.sameLease()
	}
	plan, err := migrationconfig.ReadLeaderMigrationConfiguration(m.file)
	if err != nil {
		return []error{fmt.Errorf("--%s=%s: %w", flagMigrationFile, m.file, err)}
	}
	var errs []error
	for _, wrong := range migrationconfig.ValidateLeaderMigrationConfiguration(plan) {
		errs = append(errs, fmt.Errorf("--%s=%s: %w", flagMigrationFile, m.file, wrong))
	}
	if plan.ResourceLock == migrationconfig.ResourceLockEndpoints {
		errs = append(errs, fmt.Errorf("--%s=%s: resourceLock: only %q exists", flagMigrationFile, m.file, resourcelock.LeasesResourceLock))
	}
	m.plan = plan
	return append(errs, m.sameLease()...)
}

// sameLease returns an error if the second lease is also the main lease, because the
// process would wait for ever for a lease that it already has.
func (m *Migration) sameLease() []error {
	if m.plan.LeaderName != m.election.ResourceName {
		return nil
	}
	return []error{fmt.Errorf("--enable-leader-migration: the lease of the migration and the main lease (--leader-elect-resource-name) are both called %q; they must differ", m.plan.LeaderName)}
}

// Plan returns the configuration of the leader migration. It returns nil before
// Validate and without a migration.
func (m *Migration) Plan() *cmconfig.LeaderMigrationConfiguration { return m.plan }

func (m *Migration) show(c *configuration) {
	c.Generic.LeaderMigrationEnabled = m.enabled
	if m.plan == nil {
		return
	}
	shown := &c.Generic.LeaderMigration
	shown.LeaderName = m.plan.LeaderName
	shown.ResourceLock = m.plan.ResourceLock
	for _, l := range m.plan.ControllerLeaders {
		shown.ControllerLeaders = append(shown.ControllerLeaders, v1alpha1.ControllerLeaderConfiguration(l))
	}
}

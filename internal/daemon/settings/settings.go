package settings

import (
	"slices"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	cliflag "k8s.io/component-base/cli/flag"
)

// ManagerName is upstream's name of the daemon. The lease, the certificate, the
// events and the user agent have this name, whatever the name of the binary is.
const ManagerName = "cloud-controller-manager"

// Program has a program's changes to the command line.
type Program struct {
	Name        string            // of the command
	Version     string            // "" if the program does not state one
	Provider    string            // default of --cloud-provider
	Defaults    map[string]string // of flags, by name
	Flags       cliflag.NamedFlagSets
	Read        map[string]string       // names of the program's controllers, by the flag of Fairlead that they read
	Nodes       func(*corev1.Node) bool // nil: the program leaves no Node out
	Controllers []Controller            // all controllers, in the order of their start
	Webhooks    []string                // names
}

// hasFlag reports whether the program has its own flag with this name.
func (p Program) hasFlag(name string) bool {
	has := false
	for _, fs := range p.Flags.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) { has = has || string(cliflag.WordSepNormalizeFunc(fs, f.Name)) == name })
	}
	return has
}

// Settings are the settings of the daemon, one group for each concern.
type Settings struct {
	Debugging   Debugging
	Controllers Controllers
	Election    Election
	Migration   Migration
	Provider    Provider
	Rotation    Rotation
	Node        Node
	Lifecycle   Lifecycle
	Ownership   Ownership
	Service     Service
	Route       Route
	Certificate Certificate
	IPAM        IPAM
	Serving     Serving
	Webhooks    Webhooks
	Client      Client
	Features    Features
	Global      Global
	Shadow      Shadow

	program Program
	wrong   []error        // errors of the program in its use of flags
	flags   *pflag.FlagSet // all flags, nil before AddFlags
}

// A group owns the flags of one concern, their defaults, their rules, and their
// values in /configz.
type group interface {
	addFlags(sections *cliflag.NamedFlagSets)
	validate() []error
	show(c *configuration)
}

// New returns the settings with their defaults.
func New(p Program) *Settings {
	s := &Settings{
		program:     p,
		Debugging:   newDebugging(),
		Controllers: newControllers(p.Controllers),
		Election:    newElection(),
		Provider:    newProvider(p.Provider),
		Node:        newNode(),
		Lifecycle:   newLifecycle(),
		Service:     newService(),
		Route:       newRoute(),
		Certificate: newCertificate(),
		Serving:     newServing(),
		Client:      newClient(),
		Features:    newFeatures(),
		Global:      newGlobal(p.Name, p.Version),
	}
	s.Ownership = Ownership{provider: &s.Provider, nodes: p.Nodes}
	s.Migration = Migration{election: &s.Election}
	s.IPAM = IPAM{controllers: &s.Controllers, route: &s.Route, program: p.hasFlag}
	s.Rotation = Rotation{provider: &s.Provider, period: 10 * time.Second}
	s.Webhooks = newWebhooks(p.Webhooks, &s.Serving)
	return s
}

func (s *Settings) groups() []group {
	return []group{
		&s.Debugging, &s.Controllers, &s.Election, &s.Migration, &s.Provider, &s.Rotation, &s.Node, &s.Lifecycle, &s.Ownership, &s.Service, &s.Route, &s.Certificate, &s.IPAM,
		&s.Serving, &s.Webhooks, &s.Client, &s.Features, &s.Global, &s.Shadow,
	}
}

// AddFlags adds all flags to a set, which the caller then parses. It returns the
// flags under the headings of the help text. The order of the headings is
// upstream's, and does not depend on the order of the groups.
func (s *Settings) AddFlags(all *pflag.FlagSet) cliflag.NamedFlagSets {
	sections := cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	for _, heading := range []string{
		"debugging", "leader-migration", "generic", NodeController, NodeLifecycleController, ownershipHeading, ServiceController, RouteController, CertificateController, IPAMController,
		"webhook", "webhook serving", "secure serving", "authentication", "authorization", "misc", "global",
	} {
		sections.FlagSet(heading)
	}
	for _, g := range s.groups() {
		g.addFlags(&sections)
	}
	s.addOwn(&sections)
	s.unignore(&sections)
	all.SetNormalizeFunc(sections.NormalizeNameFunc)
	for _, fs := range sections.FlagSets {
		all.AddFlagSet(fs)
	}
	s.flags = all
	s.showDefaults()
	return sections
}

// Flags returns all flags, once they have been added.
func (s *Settings) Flags() *pflag.FlagSet { return s.flags }

// Validate returns all errors of the flags and their files. The flags must have been
// parsed.
func (s *Settings) Validate() []error { return append(s.ValidateUnserved(), s.wrongServedFiles()...) }

// ValidateUnserved does the same as Validate, for a process that serves nothing. It
// does not check files that only a server reads.
func (s *Settings) ValidateUnserved() []error { return append(s.wrongValues(), s.unreadable(files)...) }

// wrongValues returns all errors except those that the methods unreadable and
// wrongServedFiles report.
func (s *Settings) wrongValues() []error {
	errs := slices.Clone(s.wrong)
	for _, g := range s.groups() {
		errs = append(errs, g.validate()...)
	}
	if err := s.misconfigured(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// misconfigured returns the error in --cluster-cidr, but only if --controllers names
// the route controller. If that controller runs by default, the leader reports the
// error, and the other controllers run.
func (s *Settings) misconfigured() error {
	if !s.Controllers.Names(RouteController) {
		return nil
	}
	return s.Route.misconfigured()
}

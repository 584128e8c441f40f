package daemon

import (
	"context"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// registration is one controller: its names, and the function that makes it.
type registration struct {
	settings.Controller
	ours bool // whether it is Fairlead's own, not the program's
	// kind is the kind of the controller's objects, such as "node".
	kind string
	// start returns the function that makes the controller with its configuration. A
	// controller of Fairlead is a worker.
	start func(s *settings.Settings) start
}

// called reports whether name is one of the controller's names.
func (r registration) called(name string) bool { return name == r.Name || name == r.Alias }

// yieldsTo reports whether this controller is left out because a controller of the
// program has the same name. Options.Without need not name it. Only a controller that
// is off by default is left out in this way: Fairlead may have added it when the
// program already had its own.
func (r registration) yieldsTo(theirs []Controller) bool {
	return r.OffByDefault && slices.ContainsFunc(theirs, func(c Controller) bool { return r.called(c.Name) || c.Alias != "" && r.called(c.Alias) })
}

type table []registration

// String returns the controllers' names.
func (t table) String() string {
	var names []string
	for _, r := range t {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// ours returns the controllers of Fairlead in the order of their start.
func ours() table {
	made := map[string]registration{
		settings.NodeController:          {kind: "node", start: func(s *settings.Settings) start { return startNodes(s) }},
		settings.NodeLifecycleController: {kind: "node", start: func(s *settings.Settings) start { return startLifecycle(s.Lifecycle, s.Ownership.Claim()) }},
		settings.ServiceController: {kind: "service", start: func(s *settings.Settings) start {
			return startServices(s.Service, s.Controllers.Runs(settings.NodeController), s.Ownership.Claim())
		}},
		settings.RouteController: {kind: "route", start: func(s *settings.Settings) start { return startRoutes(s.Route, s.Ownership.Claim()) }},
		settings.CertificateController: {kind: "request", start: func(s *settings.Settings) start {
			return startCertificates(s.Certificate.Config(s.Ownership.Claim()), s.Controllers.ResyncPeriod())
		}},
		settings.VolumeController: {kind: "volume", start: func(*settings.Settings) start { return startVolumes }},
		settings.IPAMController:   {kind: "node", start: func(s *settings.Settings) start { return startIPAM(s.IPAM, s.Ownership.Claim()) }},
	}
	var all table
	for _, c := range settings.Ours() {
		r := made[c.Name]
		r.Controller, r.ours = c, true
		all = append(all, r)
	}
	return all
}

// names returns the names of the controllers.
func (t table) names() []settings.Controller {
	var all []settings.Controller
	for _, r := range t {
		all = append(all, r.Controller)
	}
	return all
}

// find returns the controller with the name.
func (t table) find(name string) registration {
	for _, r := range t {
		if r.Name == name {
			return r
		}
	}
	return registration{}
}

// missing returns the names of enabled controllers that do not exist in this version.
// --controllers accepts these names, so that existing manifests keep working.
func (t table) missing(enabled []settings.Controller) []string {
	var names []string
	for _, c := range enabled {
		if t.find(c.Name).start == nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// added returns the registration of a controller that the program adds.
func added(c Controller) registration {
	r := registration{Controller: settings.Controller{
		Name: c.Name, Alias: c.Alias, ClientName: c.ClientName, Source: c.Name, OffByDefault: c.OffByDefault,
	}}
	if r.Alias == "" {
		r.Alias = c.Name
	}
	if r.ClientName == "" {
		r.ClientName = c.Name
	}
	r.start = func(s *settings.Settings) start {
		return func(ctx context.Context, d deps) (Runner, error) {
			made, err := c.New(ctx, ControllerDeps{
				Cloud:     d.provider.Cloud.Unwrap(),
				Client:    d.client,
				Clients:   d.clients,
				Informers: d.provider.Informers,
				Events:    d.newEvents(),
				Flags:     s.Flags(),
			})
			if err == nil && made == nil {
				err = skip("its constructor returned no controller")
			}
			return made, err
		}
	}
	return r
}

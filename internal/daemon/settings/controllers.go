package settings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/controller/volume"
)

// Names of our controllers. They appear in --controllers, in health checks and in
// logs.
const (
	NodeController          = node.Name
	NodeLifecycleController = nodelifecycle.Name
	ServiceController       = service.Name
	RouteController         = route.Name
	CertificateController   = certificate.Name
	VolumeController        = volume.Name
	IPAMController          = ipam.Name
)

// Controller is a controller that --controllers can choose.
type Controller struct {
	Name         string
	Alias        string // former name; still a label of running_managed_controllers
	ClientName   string // end of the user agent, and name of the service account
	Source       string // component of its events
	OffByDefault bool
}

// Ours returns the controllers of Fairlead. Those that are on by default have
// upstream's names.
func Ours() []Controller {
	return []Controller{
		{Name: NodeController, Alias: "cloud-node", ClientName: "node-controller", Source: "cloud-node-controller"},
		{Name: NodeLifecycleController, Alias: "cloud-node-lifecycle", ClientName: "node-controller", Source: "cloud-node-lifecycle-controller"},
		{Name: ServiceController, Alias: "service", ClientName: "service-controller", Source: "service-controller"},
		{Name: RouteController, Alias: "route", ClientName: "route-controller", Source: "route_controller"},
		{Name: CertificateController, Alias: CertificateController, ClientName: CertificateController, Source: CertificateController, OffByDefault: true},
		{Name: VolumeController, Alias: "persistent-volume-label", ClientName: volume.Name, Source: volume.Name, OffByDefault: true},
		{Name: IPAMController, Alias: "nodeipam", ClientName: "node-controller", Source: ipamSource, OffByDefault: true},
	}
}

// Controllers are the settings that choose which controllers run, and when they
// start.
type Controllers struct {
	known         []Controller
	chosen        []string
	resync        time.Duration
	startInterval time.Duration
}

func newControllers(known []Controller) Controllers {
	return Controllers{known: known, chosen: []string{"*"}, resync: 12 * time.Hour}
}

func (c *Controllers) addFlags(sections *cliflag.NamedFlagSets) {
	var names []string
	for _, k := range c.known {
		name := k.Name
		if k.OffByDefault {
			name += " (off by default)"
		}
		names = append(names, name)
	}
	fs := sections.FlagSet("generic")
	fs.StringSliceVar(&c.chosen, "controllers", c.chosen,
		"Controllers to run: 'foo' runs foo, '-foo' does not, '*' runs all that are on by default. "+
			"The first entry for a controller counts.\nAll controllers: "+strings.Join(names, ", "))
	fs.DurationVar(&c.resync, "min-resync-period", c.resync,
		"How often informers give all objects to the controllers again. The time in effect is chosen at start, between once and twice this value. 0 turns it off.")
	fs.DurationVar(&c.startInterval, "controller-start-interval", c.startInterval,
		"Time between the starts of two controllers. Each wait is chosen at random, between once and twice this value.")
}

func (c *Controllers) validate() []error {
	var errs []error
	for _, entry := range c.chosen {
		name := strings.TrimPrefix(entry, "-")
		if _, ok := c.canonical(name); !ok && entry != "*" {
			errs = append(errs, fmt.Errorf("--controllers: %q is not in the list of known controllers: %s", name, c.names()))
		}
	}
	if !slices.ContainsFunc(c.chosen, func(entry string) bool { return !strings.HasPrefix(entry, "-") }) {
		errs = append(errs, fmt.Errorf("--controllers: %q runs no controller: '*,-foo' runs all but foo, 'foo' runs foo alone; there are %s",
			strings.Join(c.chosen, ","), c.names()))
	}
	if c.resync < 0 {
		errs = append(errs, fmt.Errorf("--min-resync-period must not be negative, but got %v", c.resync))
	}
	if c.startInterval < 0 {
		errs = append(errs, fmt.Errorf("--controller-start-interval must not be negative, but got %v", c.startInterval))
	}
	return errs
}

// names returns the names of all controllers.
func (c *Controllers) names() string {
	var all []string
	for _, k := range c.known {
		all = append(all, k.Name)
	}
	return strings.Join(all, ", ")
}

func (c *Controllers) show(shown *configuration) {
	shown.Generic.Controllers = c.entries()
	shown.Generic.MinResyncPeriod.Duration = c.resync
	shown.Generic.ControllerStartInterval.Duration = c.startInterval
}

// Enabled returns the controllers to run, in the order of the known controllers.
func (c *Controllers) Enabled() []Controller {
	entries := c.entries()
	var enabled []Controller
	for _, k := range c.known {
		if chosen(k.Name, !k.OffByDefault, entries) {
			enabled = append(enabled, k)
		}
	}
	return enabled
}

// Runs reports whether the controller is enabled.
func (c *Controllers) Runs(name string) bool {
	return slices.ContainsFunc(c.Enabled(), func(k Controller) bool { return k.Name == name })
}

// Names reports whether --controllers contains the controller's name or alias. "*"
// does not count.
func (c *Controllers) Names(name string) bool { return slices.Contains(c.entries(), name) }

// ResyncPeriod returns the resync period of the informers. It is chosen at
// random, so that the resyncs of many daemons are spread over time.
func (c *Controllers) ResyncPeriod() time.Duration { return upToTwice(c.resync) }

// StartInterval returns the time to wait before the next controller starts.
func (c *Controllers) StartInterval() time.Duration { return upToTwice(c.startInterval) }

func upToTwice(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + rand.Float64())) //nolint:gosec // no secret
}

// ByAnyName returns the name of the controller with the given name, alias or client
// name. A client name counts only if exactly one controller has it. Client names are
// accepted, because controller managers use them in their default leader migration.
func (c *Controllers) ByAnyName(name string) (string, bool) {
	if canonical, ok := c.canonical(name); ok {
		return canonical, true
	}
	var found []string
	for _, k := range c.known {
		if k.ClientName == name {
			found = append(found, k.Name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// canonical returns the name of the controller with the given name or alias.
func (c *Controllers) canonical(name string) (string, bool) {
	for _, k := range c.known {
		if name == k.Name || name == k.Alias {
			return k.Name, true
		}
	}
	return "", false
}

// entries returns the entries of --controllers with aliases replaced.
func (c *Controllers) entries() []string {
	entries := make([]string, 0, len(c.chosen))
	for _, entry := range c.chosen {
		name, off := strings.CutPrefix(entry, "-")
		if canonical, ok := c.canonical(name); ok {
			name = canonical
		}
		if off {
			name = "-" + name
		}
		entries = append(entries, name)
	}
	return entries
}

// chosen reports whether the entries of --controllers or --webhooks choose the name.
// The entries must not contain aliases.
func chosen(name string, onByDefault bool, entries []string) bool {
	for _, entry := range entries {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return onByDefault && slices.Contains(entries, "*")
}

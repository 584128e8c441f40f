package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

const (
	flagServiceSyncs = "concurrent-service-syncs"
	flagClasses      = "load-balancer-class"
	flagRetired      = "load-balancer-class-cleanup"
	flagBackends     = "service-backends"
	wakeOnTaint      = "taint"
	wakeOnDeletion   = "deletion"
	leaveOnCondition = "condition:" // and its type
	backendsOfAll    = "all"
	noClass          = "-" // in --load-balancer-class: Services without a class are left to others
	backendsOfOwn    = "own"
)

// Service has the settings of the controller that gives Services their load balancers.
type Service struct {
	flags    *pflag.FlagSet // tells which flags are set
	syncs    int32
	resync   time.Duration
	classes  []string
	retired  []string
	removeOn []string
	of       string
	backends string
}

func newService() Service {
	defaults := service.DefaultPolicy()
	return Service{syncs: service.DefaultSyncs, resync: defaults.Resync, classes: defaults.Classes, of: backendsOfAll, backends: backendsOfAll}
}

func (s *Service) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(ServiceController)
	s.flags = fs
	fs.Int32Var(&s.syncs, flagServiceSyncs, s.syncs,
		"For how many Services the cloud is called at the same time. Without the flag, a provider that declares a larger number as safe gets that number.")
	deviates(fs, flagServiceSyncs, "Upstream without the flag: always 1.")
	fs.DurationVar(&s.resync, "service-resync-period", s.resync,
		"How often an unchanged load balancer is compared with the cloud, give or take a tenth. At least 1m; 0 turns it off.")
	fs.StringSliceVar(&s.classes, flagClasses, s.classes,
		"Values of spec.loadBalancerClass that are served in addition to Services without a class. With '-' among them, Services without a class are left to others. Services of other classes are never touched.")
	fs.StringSliceVar(&s.retired, flagRetired, s.retired,
		"Values of spec.loadBalancerClass that were served here in the past. Services of these classes lose their load balancer and the finalizer when they are deleted or get another type.")
	fs.StringSliceVar(&s.removeOn, "service-remove-backends-on", s.removeOn,
		"What else removes a node from load balancers at once: 'taint' (ToBeDeletedByClusterAutoscaler), 'deletion' (the Node is being deleted), 'condition:TYPE' (this condition is True). "+
			"Without it, a condition removes no node; for the others, a node is removed with the next change of the node set.")
	fs.StringVar(&s.backends, flagBackends, s.backends,
		"How many of these nodes are behind one load balancer: 'all'; 'endpoints', those with endpoints of the Service; or a number. With a number, a Service with externalTrafficPolicy Local gets those with endpoints.")
	fs.StringVar(&s.of, "service-backends-of", s.of,
		"Which nodes are behind load balancers: 'all', or 'own', which leaves out nodes that do not belong to this daemon, according to a label or the flags --own-*.")
}

func (s *Service) validate() []error {
	var errs []error
	if s.syncs < 1 {
		errs = append(errs, fmt.Errorf("--%s must be at least 1, but got %d", flagServiceSyncs, s.syncs))
	}
	if s.resync != 0 && s.resync < time.Minute {
		errs = append(errs, fmt.Errorf("--service-resync-period must be 0 or at least %v, but got %v", time.Minute, s.resync))
	}
	errs = append(errs, invalidClasses(flagClasses, s.Classes())...)
	if s.ClassesOnly() && len(s.Classes()) == 0 {
		errs = append(errs, fmt.Errorf("--%s=%s serves no Service at all: name a class, too, or switch the controller off", flagClasses, noClass))
	}
	errs = append(errs, invalidClasses(flagRetired, s.retired)...)
	for _, what := range s.removeOn {
		kind, isCondition := strings.CutPrefix(what, leaveOnCondition)
		switch {
		case isCondition && kind == string(corev1.NodeReady):
			errs = append(errs, fmt.Errorf("--service-remove-backends-on=%s would remove each node that is ready", what))
		case isCondition && len(validation.IsQualifiedName(kind)) > 0:
			errs = append(errs, fmt.Errorf("--service-remove-backends-on: %q names no condition, as in %sTerminating", what, leaveOnCondition))
		case !isCondition && what != wakeOnTaint && what != wakeOnDeletion:
			errs = append(errs, fmt.Errorf("--service-remove-backends-on: %q is none of %q, %q and %sTYPE", what, wakeOnTaint, wakeOnDeletion, leaveOnCondition))
		}
	}
	if s.of != backendsOfAll && s.of != backendsOfOwn {
		errs = append(errs, fmt.Errorf("--service-backends-of must be %q or %q, but got %q", backendsOfAll, backendsOfOwn, s.of))
	}
	if _, err := service.ParseChoice(s.backends); err != nil {
		errs = append(errs, fmt.Errorf("--%s %w, but got %q", flagBackends, err, s.backends))
	}
	return errs
}

// ReadsEndpoints reports whether the controller reads EndpointSlices.
func (s *Service) ReadsEndpoints() bool { return s.backends != backendsOfAll }

// Classes returns the values of spec.loadBalancerClass that are served.
func (s *Service) Classes() []string {
	return slices.DeleteFunc(slices.Clone(s.classes), func(class string) bool { return class == noClass })
}

// ClassesOnly reports whether Services without a class are left to others.
func (s *Service) ClassesOnly() bool { return slices.Contains(s.classes, noClass) }

// invalidClasses returns an error for each value that no Service can have in
// spec.loadBalancerClass.
func invalidClasses(flag string, classes []string) []error {
	var errs []error
	for _, class := range classes {
		if len(validation.IsQualifiedName(class)) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %q is not a load balancer class, such as example.com/internal", flag, class))
		}
	}
	return errs
}

// Policy says which Services are served.
func (s *Service) Policy() service.Policy {
	return service.Policy{Classes: s.Classes(), ClassesOnly: s.ClassesOnly(), Retired: s.retired, Resync: s.resync}
}

// Config returns the controller's configuration. The argument is the number of
// concurrent calls that the provider declares safe.
func (s *Service) Config(declared int) service.Config {
	choice, _ := service.ParseChoice(s.backends) // validate has parsed it.
	return service.Config{
		Syncs:  s.concurrency(declared),
		Policy: s.Policy(),
		Backends: service.BackendPolicy{
			WakeOnTaint: s.wakes(wakeOnTaint), WakeOnDeletion: s.wakes(wakeOnDeletion), LeaveOn: s.conditions(), OwnOnly: s.of == backendsOfOwn,
			Subset: service.Subset{Choice: choice},
		},
	}
}

// serviceConfiguration is the ServiceController part of /configz.
type serviceConfiguration struct {
	ConcurrentServiceSyncs int32
	ServiceBackends        string
	ServiceBackendsOf      string
}

func (s *Service) show(c *configuration) {
	c.ServiceController = serviceConfiguration{ConcurrentServiceSyncs: s.syncs, ServiceBackends: s.backends, ServiceBackendsOf: s.of}
}

// concurrency returns the number of Services for which the cloud is called at the
// same time.
func (s *Service) concurrency(declared int) int {
	if s.flags.Changed(flagServiceSyncs) {
		return int(s.syncs)
	}
	return max(declared, int(s.syncs))
}

func (s *Service) wakes(what string) bool { return slices.Contains(s.removeOn, what) }

// conditions returns the types of the conditions that remove a node.
func (s *Service) conditions() (kinds []corev1.NodeConditionType) {
	for _, what := range s.removeOn {
		if kind, ok := strings.CutPrefix(what, leaveOnCondition); ok {
			kinds = append(kinds, corev1.NodeConditionType(kind))
		}
	}
	return kinds
}

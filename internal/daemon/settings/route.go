package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/route"
)

const (
	flagClusterCIDR  = "cluster-cidr"
	flagRouteSyncs   = "concurrent-route-syncs"
	flagRoutePeriod  = "route-reconciliation-period"
	flagRouteOutside = "route-creation-outside-cluster-cidr"
)

// Route has the settings of the controller that manages the cloud's routes. It also
// has the settings of the cluster's CIDRs, which IPAM reads, too. Upstream has these
// settings for all controllers.
type Route struct {
	configure     bool
	clusterCIDR   string
	period        time.Duration
	syncs         int32
	limits        route.Limits
	allocate      bool
	allocatorType string
	flags         *pflag.FlagSet // tells which flags are set
}

func newRoute() Route {
	return Route{
		configure:     true,
		period:        time.Minute,
		syncs:         200,
		limits:        route.DefaultLimits(),
		allocatorType: rangeAllocator,
	}
}

func (r *Route) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	fs.BoolVar(&r.configure, "configure-cloud-routes", r.configure,
		"Keep a route in the cloud for the pod CIDRs of each node, if the provider has routes.")
	fs.StringVar(&r.clusterCIDR, flagClusterCIDR, r.clusterCIDR,
		"CIDR of the pods of this cluster, or two of different families, separated by a comma. Routes are created and removed only inside of it, and --"+flagAllocate+" gives nodes parts of it. Required for both.")
	fs.DurationVar(&r.period, flagRoutePeriod, r.period,
		"How often all routes are compared with the nodes, give or take a tenth. Changes of nodes act at once.")
	deviates(fs, flagRoutePeriod, "Upstream: 10s.")
	deviates(fs, flagClusterCIDR, "A wrong value ends the process only if --controllers names the route controller. With upstream it always does.")
	fs.BoolVar(&r.allocate, flagAllocate, r.allocate,
		"Give nodes the CIDRs of their pods, out of --"+flagClusterCIDR+", if --controllers names "+IPAMController+" as well.")
	deviates(fs, flagAllocate, "Upstream's skeleton ignores it; its sample program brings a controller for it, which runs by default.")
	fs.StringVar(&r.allocatorType, flagAllocatorType, r.allocatorType, "How nodes get CIDRs. There is only 'RangeAllocator'.")
	fs = sections.FlagSet(RouteController)
	r.flags = fs
	fs.Int32Var(&r.syncs, flagRouteSyncs, r.syncs,
		"How many routes are changed at the same time.")
	fs.BoolVar(&r.limits.CreateOutside, flagRouteOutside, r.limits.CreateOutside,
		"Create a route for every pod CIDR of a node, even if the CIDR is not inside --cluster-cidr, or is as wide as --cluster-cidr. Such routes are never deleted.")
	deviates(fs, flagRouteOutside, "Upstream does so.")
	fs.BoolVar(&r.limits.RemoveDuplicates, "route-deletion-duplicates", r.limits.RemoveDuplicates,
		"Delete all but one of the routes that lead from one CIDR to one node, after --route-deletion-stray-for. Do not set it if the provider lists several tables.")
	fs.DurationVar(&r.limits.StrayFor, "route-deletion-stray-for", r.limits.StrayFor,
		"A route that leads to no node, or nowhere, is deleted when the cloud has listed it for this long. Routes of nodes whose deletion was seen are deleted at once.")
	fs.IntVar(&r.limits.BudgetRoutes, "route-deletion-budget-routes", r.limits.BudgetRoutes,
		"How many stray routes may be deleted together. If more are stray, they are kept for --route-deletion-over-budget-after.")
	fs.IntVar(&r.limits.BudgetPercent, "route-deletion-budget-percent", r.limits.BudgetPercent,
		"The same as --route-deletion-budget-routes, in percent of all routes. The larger number counts.")
	fs.DurationVar(&r.limits.OverBudgetAfter, "route-deletion-over-budget-after", r.limits.OverBudgetAfter,
		"How long stray routes are kept while there are more of them than the budget. After that they are deleted, if the cloud has listed them all the time.")
	fs.DurationVar(&r.limits.AdoptAfter, "route-adopt-conditions-after", r.limits.AdoptAfter,
		"After this time, a condition NetworkUnavailable of another writer is taken over, if it is True although the node has its routes. A network plugin that was removed leaves such conditions. 0: never.")
}

func (r *Route) validate() []error {
	var errs []error
	if r.syncs < 1 {
		errs = append(errs, fmt.Errorf("--%s must be at least 1, but got %d", flagRouteSyncs, r.syncs))
	}
	if r.period <= 0 {
		errs = append(errs, fmt.Errorf("--%s must be positive, but got %v", flagRoutePeriod, r.period))
	}
	if r.limits.StrayFor < 0 {
		errs = append(errs, fmt.Errorf("--route-deletion-stray-for must not be negative, but got %v", r.limits.StrayFor))
	}
	if r.limits.OverBudgetAfter < 0 {
		errs = append(errs, fmt.Errorf("--route-deletion-over-budget-after must not be negative, but got %v", r.limits.OverBudgetAfter))
	}
	if r.limits.AdoptAfter < 0 {
		errs = append(errs, fmt.Errorf("--route-adopt-conditions-after must not be negative, but got %v", r.limits.AdoptAfter))
	}
	if r.limits.BudgetRoutes < 0 {
		errs = append(errs, fmt.Errorf("--route-deletion-budget-routes must not be negative, but got %d", r.limits.BudgetRoutes))
	}
	if r.limits.BudgetPercent < 0 || r.limits.BudgetPercent > 100 {
		errs = append(errs, fmt.Errorf("--route-deletion-budget-percent must be between 0 and 100, but got %d", r.limits.BudgetPercent))
	}
	return errs
}

// routeConfiguration has the settings about routes that /configz shows in
// KubeCloudShared.
type routeConfiguration struct {
	RouteReconciliationPeriod metav1.Duration
	ClusterCIDR               string
	AllocateNodeCIDRs         bool
	CIDRAllocatorType         string
	ConfigureCloudRoutes      bool
}

// routeControllerConfiguration is the controller's own section of /configz. Upstream
// does not have this section.
type routeControllerConfiguration struct {
	ConcurrentRouteSyncs            int32
	RouteCreationOutsideClusterCIDR bool
	RouteDeletionDuplicates         bool
	RouteDeletionStrayFor           metav1.Duration
	RouteDeletionBudgetRoutes       int
	RouteDeletionBudgetPercent      int
	RouteDeletionOverBudgetAfter    metav1.Duration
	RouteAdoptConditionsAfter       metav1.Duration
}

func (r *Route) show(c *configuration) {
	c.KubeCloudShared.routeConfiguration = routeConfiguration{
		RouteReconciliationPeriod: metav1.Duration{Duration: r.period},
		ClusterCIDR:               r.clusterCIDR,
		AllocateNodeCIDRs:         r.allocate,
		CIDRAllocatorType:         r.allocatorType,
		ConfigureCloudRoutes:      r.configure,
	}
	c.RouteController = routeControllerConfiguration{
		ConcurrentRouteSyncs:            r.syncs,
		RouteCreationOutsideClusterCIDR: r.limits.CreateOutside,
		RouteDeletionDuplicates:         r.limits.RemoveDuplicates,
		RouteDeletionStrayFor:           metav1.Duration{Duration: r.limits.StrayFor},
		RouteDeletionBudgetRoutes:       r.limits.BudgetRoutes,
		RouteDeletionBudgetPercent:      r.limits.BudgetPercent,
		RouteDeletionOverBudgetAfter:    metav1.Duration{Duration: r.limits.OverBudgetAfter},
		RouteAdoptConditionsAfter:       metav1.Duration{Duration: r.limits.AdoptAfter},
	}
}

// Configured reports whether the daemon manages routes.
func (r *Route) Configured() bool { return r.configure }

// Config returns the configuration of the controller. The error is about the CIDRs
// of the cluster.
func (r *Route) Config() (route.Config, error) {
	clusters, err := r.clusters()
	return route.Config{Clusters: clusters, Syncs: int(r.syncs), Period: r.period, Limits: r.limits}, err
}

// misconfigured returns the error in --cluster-cidr. It returns nil if the flag is not set.
func (r *Route) misconfigured() error {
	if r.clusterCIDR == "" || !r.Configured() {
		return nil
	}
	_, err := r.Config()
	return err
}

// Concurrent adapts the configuration to the number of concurrent calls that the
// provider declares safe. The parameter declared is that number, or 0 if the provider
// declares none. A flag that is set takes precedence.
func (r *Route) Concurrent(c route.Config, declared int) route.Config {
	if declared > 0 && !r.flags.Changed(flagRouteSyncs) {
		c.Syncs = declared
	}
	return c
}

// clusters parses the cluster's CIDRs.
func (r *Route) clusters() ([]netip.Prefix, error) {
	if r.clusterCIDR == "" {
		return nil, errors.New("--" + flagClusterCIDR + " is empty: give the CIDR of the pods, or turn routes off with --configure-cloud-routes=false")
	}
	return parseCIDRs(flagClusterCIDR, r.clusterCIDR)
}

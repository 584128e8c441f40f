package settings

import (
	"errors"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// DefaultClusterName is the name of a cluster whose operator has not chosen one.
// Two clusters of the same name in one account overwrite each other's load
// balancers.
const DefaultClusterName = "kubernetes"

// Provider has the settings of the cloud provider and of calls to it.
type Provider struct {
	Name          string
	ConfigFile    string
	ClusterName   string
	AllowUntagged bool
	volumePlugin  string
	nodeSync      time.Duration
	ReadTimeout   time.Duration
	ChangeTimeout time.Duration
	Ceiling       cloud.Ceiling
	Budget        float64 // calls a second that the cloud's quota allows; 0: unknown
}

func newProvider(name string) Provider {
	return Provider{Name: name, ClusterName: DefaultClusterName, ReadTimeout: 5 * time.Minute, ChangeTimeout: 15 * time.Minute}
}

func (p *Provider) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	fs.StringVar(&p.Name, "cloud-provider", p.Name,
		"Name of the cloud provider, as it registered itself. Required.")
	fs.StringVar(&p.ConfigFile, "cloud-config", p.ConfigFile,
		"Path to the provider's configuration file. Empty for none.")
	fs.StringVar(&p.ClusterName, "cluster-name", p.ClusterName,
		"Name of the cluster in the cloud, which the provider gets with each load balancer and route. It has to be unique in the account.")
	fs.BoolVar(&p.AllowUntagged, "allow-untagged-cloud", p.AllowUntagged,
		"Run even if the provider finds no cluster ID on the instances.")
	untagged := fs.Lookup("allow-untagged-cloud")
	untagged.Hidden = true
	untagged.Deprecated = "tag the cluster's instances with a cluster ID."
	fs.StringVar(&p.volumePlugin, "external-cloud-volume-plugin", p.volumePlugin,
		"Volume plugin of a provider that is not linked in.")
	ignored(fs, "external-cloud-volume-plugin", "No cloud-controller-manager has read it since volumes moved to CSI drivers.")
	fs.DurationVar(&p.nodeSync, "node-sync-period", p.nodeSync,
		"Period of a controller that no longer exists.")
	ignored(fs, "node-sync-period", "Upstream ignores it, too, and warns.")
	sync := fs.Lookup("node-sync-period")
	sync.Hidden = true
	sync.Deprecated = "This flag is currently no-op and will be deleted."
	fs.DurationVar(&p.ReadTimeout, "cloud-read-timeout", p.ReadTimeout,
		"Deadline for each call of the provider that only reads.")
	fs.DurationVar(&p.ChangeTimeout, "cloud-mutation-timeout", p.ChangeTimeout,
		"Deadline for each call of the provider that changes the cloud. Existing providers may wait for minutes within one call.")
	fs.Float64Var(&p.Ceiling.PerSecond, "cloud-api-qps", p.Ceiling.PerSecond,
		"Maximum number of calls of the provider in a second. Set it if others need the quota of the same account. 0 means no maximum: the rate then depends only on what the cloud refuses.")
	fs.IntVar(&p.Ceiling.Burst, "cloud-api-burst", p.Ceiling.Burst,
		"With --cloud-api-qps, the number of calls that may begin at once after a pause. 0 means as many as --cloud-api-qps allows in a second.")
	fs.IntVar(&p.Ceiling.Concurrency, "cloud-api-concurrency", p.Ceiling.Concurrency,
		"Maximum number of calls of the provider at the same time. A call that hangs counts until it returns, so with 1 it holds back all others. 0 means no maximum.")
	fs.Float64Var(&p.Budget, "cloud-api-budget", p.Budget,
		"Calls of the provider in a second that the quota of the account allows this daemon, in the long run. Comparisons of all Nodes, for which nobody waits, keep to a part of it; other calls may be more. 0 means that the daemon learns it when the cloud refuses calls. docs/guides/cloud-quota.md has the numbers of known clouds.")
}

// ErrNoProvider is the error of a command line without a value of --cloud-provider.
var ErrNoProvider = errors.New("--cloud-provider cannot be empty; name a provider that this program links, as in --cloud-provider=mycloud")

func (p *Provider) validate() []error {
	var errs []error
	if p.Name == "" {
		errs = append(errs, ErrNoProvider)
	}
	if p.ClusterName == "" {
		errs = append(errs, fmt.Errorf("--cluster-name cannot be empty, because load balancers and routes are found by it; without the flag it is %q", DefaultClusterName))
	}
	if p.ReadTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--cloud-read-timeout must be positive, but got %v", p.ReadTimeout))
	}
	if p.ChangeTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--cloud-mutation-timeout must be positive, but got %v", p.ChangeTimeout))
	}
	c := p.Ceiling
	if c.PerSecond < 0 || math.IsNaN(c.PerSecond) || math.IsInf(c.PerSecond, 0) {
		errs = append(errs, fmt.Errorf("--cloud-api-qps must be 0 for no maximum or a positive number, but got %v", c.PerSecond))
	}
	if c.Burst < 0 {
		errs = append(errs, fmt.Errorf("--cloud-api-burst must not be negative, but got %d", c.Burst))
	}
	if c.Burst > 0 && c.PerSecond == 0 {
		errs = append(errs, errors.New("--cloud-api-burst has no effect without --cloud-api-qps: set both"))
	}
	if c.Concurrency < 0 {
		errs = append(errs, fmt.Errorf("--cloud-api-concurrency must not be negative, but got %d", c.Concurrency))
	}
	if p.Budget < 0 || math.IsNaN(p.Budget) || math.IsInf(p.Budget, 0) {
		errs = append(errs, fmt.Errorf("--cloud-api-budget must be 0 for unknown or a positive number of calls a second, but got %v", p.Budget))
	}
	return errs
}

// providerConfiguration is the KubeCloudShared part of /configz.
type providerConfiguration struct {
	CloudProvider struct {
		Name            string
		CloudConfigFile string
	}
	ExternalCloudVolumePlugin    string
	UseServiceAccountCredentials bool
	AllowUntaggedCloud           bool
	ClusterName                  string
	NodeSyncPeriod               metav1.Duration
	CloudAPIQPS                  float64
	CloudAPIBurst                int
	CloudAPIConcurrency          int
	CloudAPIBudget               float64
	routeConfiguration           `json:",inline"`
}

func (p *Provider) show(c *configuration) {
	shown := &c.KubeCloudShared
	shown.CloudProvider.Name = p.Name
	shown.CloudProvider.CloudConfigFile = p.ConfigFile
	shown.AllowUntaggedCloud = p.AllowUntagged
	shown.ClusterName = p.ClusterName
	shown.ExternalCloudVolumePlugin = p.volumePlugin
	shown.NodeSyncPeriod.Duration = p.nodeSync
	shown.CloudAPIQPS, shown.CloudAPIBurst, shown.CloudAPIConcurrency = p.Ceiling.PerSecond, p.Ceiling.Burst, p.Ceiling.Concurrency
	shown.CloudAPIBudget = p.Budget
}

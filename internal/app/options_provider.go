package app

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"
)

// defaultClusterName is what every cluster is called whose operator did not
// choose. Two of them in one account claim each other's load balancers.
const defaultClusterName = "kubernetes"

type providerOptions struct {
	name          string
	configFile    string
	clusterName   string
	allowUntagged bool
	volumePlugin  string
	nodeSync      time.Duration
	readTimeout   time.Duration
	changeTimeout time.Duration
}

func newProviderOptions(name string) providerOptions {
	return providerOptions{name: name, clusterName: defaultClusterName, readTimeout: 5 * time.Minute, changeTimeout: 15 * time.Minute}
}

func (p *providerOptions) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	fs.StringVar(&p.name, "cloud-provider", p.name,
		"Name of the cloud provider, as it registered itself. Required.")
	fs.StringVar(&p.configFile, "cloud-config", p.configFile,
		"Path to the provider's configuration file. Empty for none.")
	fs.StringVar(&p.clusterName, "cluster-name", p.clusterName,
		"Name of the cluster in the cloud, handed to the provider with each load balancer and route. Unique in its account.")
	fs.BoolVar(&p.allowUntagged, "allow-untagged-cloud", p.allowUntagged,
		"Run although the provider found no cluster ID on the instances.")
	untagged := fs.Lookup("allow-untagged-cloud")
	untagged.Hidden = true
	untagged.Deprecated = "tag the cluster's instances with a cluster ID."
	fs.StringVar(&p.volumePlugin, "external-cloud-volume-plugin", p.volumePlugin,
		"The volume plugin of a provider that is not linked in.")
	ignored(fs, "external-cloud-volume-plugin", "No cloud-controller-manager has read it since volumes moved to CSI drivers.")
	fs.DurationVar(&p.nodeSync, "node-sync-period", p.nodeSync,
		"The period of a controller that is gone.")
	ignored(fs, "node-sync-period", "Upstream ignores it as well, and warns.")
	sync := fs.Lookup("node-sync-period")
	sync.Hidden = true
	sync.Deprecated = "This flag is currently no-op and will be deleted."
	fs.DurationVar(&p.readTimeout, "cloud-read-timeout", p.readTimeout,
		"Deadline for each call of the provider that only reads.")
	fs.DurationVar(&p.changeTimeout, "cloud-mutation-timeout", p.changeTimeout,
		"Deadline for each call of the provider that changes the cloud. Existing providers wait inside for minutes.")
}

func (p *providerOptions) validate() []error {
	var errs []error
	if p.name == "" {
		errs = append(errs, errors.New("--cloud-provider cannot be empty"))
	}
	if p.readTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--cloud-read-timeout must be positive, but got %v", p.readTimeout))
	}
	if p.changeTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--cloud-mutation-timeout must be positive, but got %v", p.changeTimeout))
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
	routeConfiguration           `json:",inline"`
}

func (p *providerOptions) show(c *configuration) {
	shown := &c.KubeCloudShared
	shown.CloudProvider.Name = p.name
	shown.CloudProvider.CloudConfigFile = p.configFile
	shown.AllowUntaggedCloud = p.allowUntagged
	shown.ClusterName = p.clusterName
	shown.ExternalCloudVolumePlugin = p.volumePlugin
	shown.NodeSyncPeriod.Duration = p.nodeSync
}

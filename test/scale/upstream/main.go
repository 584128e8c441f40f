// Command upstream is the community's skeleton of a cloud-controller-manager with
// the providers that the benchmark uses. It is built like the skeleton's own sample.
// The benchmark compares Fairlead with this command. Besides this command, only
// ccm/skeleton may import the skeleton.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"        //nolint:depguard // the benchmark measures this code
	"k8s.io/cloud-provider/app/config" //nolint:depguard // as above
	"k8s.io/cloud-provider/names"      //nolint:depguard // as above
	"k8s.io/cloud-provider/options"    //nolint:depguard // as above
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as the sample does
	_ "k8s.io/component-base/metrics/prometheus/version"  // as the sample does
	"k8s.io/klog/v2"

	_ "github.com/fairlead-k8s/fairlead/providers/simulated" // provider "simulated"
	_ "github.com/fairlead-k8s/fairlead/test/scale/listing"  // providers "listing" and "listing-cached"
)

func main() {
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("Options: %v", err)
	}
	command := app.NewCloudControllerManagerCommand(o, newCloud, app.DefaultInitFuncConstructors, names.CCMControllerAliases(),
		cliflag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command)) //nolint:forbidigo // it is main
}

func newCloud(c *config.CompletedConfig) cloudprovider.Interface {
	settings := c.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(settings.Name, settings.CloudConfigFile)
	if err != nil {
		klog.Fatalf("Cloud provider: %v", err)
	}
	if cloud == nil {
		klog.Fatal("There is no cloud provider")
	}
	if !cloud.HasClusterID() && !c.ComponentConfig.KubeCloudShared.AllowUntaggedCloud {
		klog.Fatal("The cloud has no cluster ID")
	}
	return cloud
}

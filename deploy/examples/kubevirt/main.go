// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command kubevirt-cloud-controller-manager is the daemon with the provider of
// KubeVirt and its controller for EndpointSlices.
package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"kubevirt.io/cloud-provider-kubevirt/pkg/controller/kubevirteps"
	kubevirt "kubevirt.io/cloud-provider-kubevirt/pkg/provider" // registers itself

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "kubevirt-cloud-controller-manager",
		ProviderName: kubevirt.ProviderName,
		Controllers:  []ccm.Controller{{Name: kubevirteps.ControllerName.String(), New: newSlices}},
	})
}

// slices is the controller that keeps EndpointSlices of Services in the cluster
// that hosts the machines.
type slices struct{ *kubevirteps.Controller }

func newSlices(_ context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
	cloud, ok := d.Cloud.(*kubevirt.Cloud)
	if !ok {
		return nil, fmt.Errorf("the provider is %T", d.Cloud)
	}
	if on := cloud.GetCloudConfig().LoadBalancer.EnableEPSController; on == nil || !*on {
		return nil, ccm.Skip("the cloud-config does not enable it")
	}
	host, err := hostConfig(cloud)
	if err != nil {
		return nil, fmt.Errorf("host cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("host cluster: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("host cluster: %w", err)
	}
	c := kubevirteps.NewKubevirtEPSController(d.Client, client, dynamicClient, cloud.Namespace())
	return slices{c}, c.Init()
}

// Run works until ctx ends.
func (s slices) Run(ctx context.Context) error {
	s.Controller.Run(1, ctx.Done(), controllersmetrics.NewControllerManagerMetrics("kubevirt-cloud-controller-manager"))
	return nil
}

// hostConfig returns the configuration of the cluster that hosts the machines.
// If the cloud-config names no kubeconfig, that is the cluster in which the daemon runs.
func hostConfig(cloud *kubevirt.Cloud) (*rest.Config, error) {
	if cloud.GetCloudConfig().Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	text, err := cloud.GetInfraKubeconfig()
	if err != nil {
		return nil, err
	}
	return clientcmd.RESTConfigFromKubeConfig([]byte(text))
}

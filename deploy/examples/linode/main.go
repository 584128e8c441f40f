// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command linode-cloud-controller-manager is the daemon with the provider of
// Linode.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/linode/linode-cloud-controller-manager/cloud/linode" // registers itself
	"github.com/linode/linode-cloud-controller-manager/cloud/linode/options"
	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	var flags cliflag.NamedFlagSets
	addFlags(flags.FlagSet("linode"))
	ccm.MainWith(ccm.Options{
		Name:         "linode-cloud-controller-manager",
		ProviderName: linode.ProviderName,
		// The vendor's main does not read the ConfigMap
		// extension-apiserver-authentication.
		Defaults: map[string]string{"authentication-skip-lookup": "true"},
		Flags:    flags,
		Provider: newProvider,
	})
}

// newProvider sets the variables from which the provider reads its settings, and
// returns the provider.
func newProvider(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
	o := &options.Options
	o.KubeconfigFlag = d.Flags.Lookup("kubeconfig")
	o.AllocateNodeCIDRs = d.Flags.Lookup("allocate-node-cidrs").Value.String() == "true"
	o.ClusterCIDRIPv4 = d.Flags.Lookup("cluster-cidr").Value.String()
	if o.AllocateNodeCIDRs && o.ClusterCIDRIPv4 == "" {
		return nil, fmt.Errorf("--allocate-node-cidrs needs --cluster-cidr")
	}
	if subnet := os.Getenv("LINODE_EXTERNAL_SUBNET"); subnet != "" {
		_, network, err := net.ParseCIDR(subnet)
		if err != nil {
			return nil, fmt.Errorf("LINODE_EXTERNAL_SUBNET: %w", err)
		}
		o.LinodeExternalNetwork = network
	}
	// When the API refuses the token, the check of --enable-token-health-checker
	// closes this channel. The daemon then does the same as after a change of
	// --cloud-config.
	refused := make(chan struct{})
	o.GlobalStopChannel = refused
	go func() {
		select {
		case <-refused:
			d.Changed()
		case <-d.Lasting.Done():
		}
	}()
	return d.Registered()
}

// addFlags adds the flags of the vendor's main, with their defaults.
func addFlags(own *pflag.FlagSet) {
	o := &options.Options
	own.BoolVar(&o.LinodeGoDebug, "linodego-debug", false, "Log each call of the API.")
	own.BoolVar(&o.EnableRouteController, "enable-route-controller", false, "Keep routes to the nodes' pod CIDRs in VPCs.")
	own.BoolVar(&o.EnableTokenHealthChecker, "enable-token-health-checker", false, "Check repeatedly whether the API accepts the token.")
	own.StringSliceVar(&o.VPCNames, "vpc-names", nil, "Names of the nodes' VPCs.")
	own.StringSliceVar(&o.SubnetNames, "subnet-names", []string{"default"}, "Names of the nodes' subnets. Needs --vpc-names.")
	own.IntSliceVar(&o.VPCIDs, "vpc-ids", nil, "IDs of the nodes' VPCs.")
	own.IntSliceVar(&o.SubnetIDs, "subnet-ids", nil, "IDs of the nodes' subnets. Needs --vpc-ids.")
	own.StringVar(&o.LoadBalancerType, "load-balancer-type", "nodebalancer", "Kind of load balancer that Services get.")
	own.StringVar(&o.BGPNodeSelector, "bgp-node-selector", "", "Has no effect.")
	own.StringVar(&o.IpHolderSuffix, "ip-holder-suffix", "", "Has no effect.")
	own.StringVar(&o.DefaultNBType, "default-nodebalancer-type", "common", "Type of NodeBalancers that name none: common, premium or premium_40GB.")
	own.StringVar(&o.NodeBalancerBackendIPv4Subnet, "nodebalancer-backend-ipv4-subnet", "", "IPv4 subnet of the backends of NodeBalancers.")
	own.IntVar(&o.NodeBalancerBackendIPv4SubnetID, "nodebalancer-backend-ipv4-subnet-id", 0, "ID of that subnet.")
	own.StringVar(&o.NodeBalancerBackendIPv4SubnetName, "nodebalancer-backend-ipv4-subnet-name", "", "Name of that subnet.")
	own.BoolVar(&o.DisableNodeBalancerVPCBackends, "disable-nodebalancer-vpc-backends", false, "Let backends be private IP addresses instead of those in VPCs.")
	own.StringSliceVar(&o.NodeBalancerTags, "nodebalancer-tags", nil, "Tags of all NodeBalancers.")
	own.StringVar(&o.NodeBalancerPrefix, "nodebalancer-prefix", "ccm", "Prefix of the names of NodeBalancers. It must not be empty.")
	own.BoolVar(&o.EnableIPv6ForLoadBalancers, "enable-ipv6-for-loadbalancers", false, "Write the IPv6 address of load balancers into the status of Services, too.")
	own.BoolVar(&o.EnableIPv6ForNodeBalancerBackends, "enable-ipv6-for-nodebalancer-backends", false, "Let backends be public IPv6 addresses.")
	own.IntVar(&o.NodeCIDRMaskSizeIPv4, "node-cidr-mask-size-ipv4", 0, "Mask size of IPv4 pod CIDRs.")
	own.IntVar(&o.NodeCIDRMaskSizeIPv6, "node-cidr-mask-size-ipv6", 0, "Mask size of IPv6 pod CIDRs.")
	own.BoolVar(&o.DisableIPv6NodeCIDRAllocation, "disable-ipv6-node-cidr-allocation", false, "Give nodes no IPv6 pod CIDR.")
	own.StringVar(&o.LinodeTagFilter, "linode-tag-filter", "", "Tag of the machines that belong to the cluster.")
}

package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

const (
	flagAllocate      = "allocate-node-cidrs"
	flagAllocatorType = "cidr-allocator-type"
	flagServiceRange  = "service-cluster-ip-range"
	flagMask          = "node-cidr-mask-size"
	flagMask4         = "node-cidr-mask-size-ipv4"
	flagMask6         = "node-cidr-mask-size-ipv6"

	rangeAllocator = "RangeAllocator"
	// ipamSource is the component of the controller's events. It is the same as in
	// kube-controller-manager.
	ipamSource = "cidrAllocator"
)

// These are the default lengths of a Node's CIDR.
const (
	defaultMask4 = 24
	defaultMask6 = 64
)

// IPAM has the settings of the controller that gives Nodes the CIDRs of their pods.
// Flags that upstream's skeleton has, too, are in the type Route.
type IPAM struct {
	controllers        *Controllers
	route              *Route
	services           string
	mask, mask4, mask6 int
	program            func(flag string) bool // reports whether the program has its own flag with that name
	taken              []string               // flags of the controller whose names the program has taken
}

// ours reports whether the program has Fairlead's controller. A program that
// replaces it brings flags for its own controller.
func (i *IPAM) ours() bool {
	return slices.ContainsFunc(i.controllers.known, func(k Controller) bool { return k.Name == IPAMController && k.Source == ipamSource })
}

func (i *IPAM) addFlags(sections *cliflag.NamedFlagSets) {
	if !i.ours() {
		return
	}
	fs := pflag.NewFlagSet(IPAMController, pflag.ContinueOnError)
	fs.StringVar(&i.services, flagServiceRange, i.services,
		"CIDR of Services, or two of different families, separated by a comma. No node gets a part of it.")
	fs.IntVar(&i.mask, flagMask, i.mask,
		fmt.Sprintf("Length of a node's CIDR in a cluster of one family. 0: %d for IPv4, %d for IPv6.", defaultMask4, defaultMask6))
	fs.IntVar(&i.mask4, flagMask4, i.mask4, fmt.Sprintf("Length of a node's IPv4 CIDR. 0: %d.", defaultMask4))
	fs.IntVar(&i.mask6, flagMask6, i.mask6, fmt.Sprintf("Length of a node's IPv6 CIDR. 0: %d.", defaultMask6))
	// A program with its own allocator of CIDRs may already have flags of these names,
	// and keeps them.
	fs.VisitAll(func(f *pflag.Flag) {
		if i.program(f.Name) {
			i.taken = append(i.taken, f.Name)
			return
		}
		sections.FlagSet(IPAMController).AddFlag(f)
	})
}

// Runs reports whether both flags of the controller switch it on.
func (i *IPAM) Runs() bool { return i.route.allocate && i.controllers.Runs(IPAMController) }

// unused returns the reason why --allocate-node-cidrs has no effect. It returns ""
// if the flag has an effect or is not set.
func (i *IPAM) unused() string {
	if !i.route.allocate || !i.ours() || i.Runs() {
		return ""
	}
	return "Only the controller " + IPAMController + " reads it, which --controllers has to choose. Otherwise kube-controller-manager gives the CIDRs."
}

// validate reports errors of the flags if the controller runs.
func (i *IPAM) validate() []error {
	if !i.ours() || !i.Runs() {
		return nil
	}
	_, err := i.Config(ownership.Claim{})
	if err == nil {
		return nil
	}
	return []error{err}
}

// ipamConfiguration is the controller's part of /configz.
type ipamConfiguration struct {
	ServiceClusterIPRange string
	NodeCIDRMaskSize      int
	NodeCIDRMaskSizeIPv4  int
	NodeCIDRMaskSizeIPv6  int
}

func (i *IPAM) show(c *configuration) {
	c.NodeIPAMController = ipamConfiguration{i.services, i.mask, i.mask4, i.mask6}
}

// Config returns the configuration of the controller.
func (i *IPAM) Config(claim ownership.Claim) (ipam.Config, error) {
	if len(i.taken) > 0 {
		return ipam.Config{}, fmt.Errorf("--controllers names %s, which cannot run in this program: --%s is a flag of the program's own", IPAMController, i.taken[0])
	}
	if i.route.allocatorType != rangeAllocator {
		return ipam.Config{}, fmt.Errorf("--%s must be %q, but got %q", flagAllocatorType, rangeAllocator, i.route.allocatorType)
	}
	if i.route.clusterCIDR == "" {
		return ipam.Config{}, errors.New("--" + flagClusterCIDR + " is empty: --" + flagAllocate + " needs the CIDR of the pods")
	}
	clusters, err := parseCIDRs(flagClusterCIDR, i.route.clusterCIDR)
	if err != nil {
		return ipam.Config{}, err
	}
	c := ipam.Config{Claim: claim}
	for _, cluster := range clusters {
		mask, err := i.maskOf(cluster, len(clusters))
		if err != nil {
			return ipam.Config{}, err
		}
		c.Families = append(c.Families, ipam.Family{Cluster: cluster, Mask: mask})
	}
	if i.services != "" {
		c.Reserved, err = parseCIDRs(flagServiceRange, i.services)
	}
	return c, err
}

// maskOf returns the length of the CIDRs that Nodes get from one of the cluster's
// CIDRs.
func (i *IPAM) maskOf(cluster netip.Prefix, families int) (int, error) {
	name, mask := flagMask4, i.mask4
	if cluster.Addr().Is6() {
		name, mask = flagMask6, i.mask6
	}
	switch {
	case i.mask != 0 && families > 1:
		return 0, fmt.Errorf("--%s is for one family, but --%s has two; use --%s and --%s", flagMask, flagClusterCIDR, flagMask4, flagMask6)
	case i.mask != 0 && (i.mask4 != 0 || i.mask6 != 0):
		return 0, fmt.Errorf("--%s excludes --%s and --%s", flagMask, flagMask4, flagMask6)
	case i.mask != 0:
		name, mask = flagMask, i.mask
	case mask == 0 && cluster.Addr().Is4():
		mask = defaultMask4
	case mask == 0:
		mask = defaultMask6
	}
	f := ipam.Family{Cluster: cluster, Mask: mask}
	if longest := min(cluster.Addr().BitLen(), cluster.Bits()+f.MaxBits()); mask < cluster.Bits() || mask > longest {
		return 0, fmt.Errorf("--%s must be between %d and %d for --%s=%s, but is %d", name, cluster.Bits(), longest, flagClusterCIDR, cluster, mask)
	}
	return mask, nil
}

// parseCIDRs parses the value of a flag: one CIDR, or two of different families.
func parseCIDRs(flag, value string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for text := range strings.SplitSeq(value, ",") {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--%s: %q is not a CIDR: %w", flag, text, err)
		}
		all = append(all, cidr.Masked())
	}
	switch {
	case len(all) > 2:
		return nil, fmt.Errorf("--%s has %d CIDRs, and may have two at most: %s", flag, len(all), value)
	case len(all) == 2 && all[0].Addr().Is4() == all[1].Addr().Is4():
		return nil, fmt.Errorf("--%s has two CIDRs of one family, and may have one of each: %s", flag, value)
	}
	return all, nil
}

// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command gcp-cloud-controller-manager is the daemon with the provider of Google
// Cloud.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-gcp/providers/gce" // registers itself
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	var flags cliflag.NamedFlagSets
	var s switches
	s.addFlags(flags.FlagSet("GCE Cloud Provider"))
	ccm.MainWith(ccm.Options{
		Name:         "gcp-cloud-controller-manager",
		ProviderName: gce.ProviderName,
		Flags:        flags,
		Provider:     s.newProvider,
	})
}

// switches are flags of the vendor's main, which passes them to the provider.
type switches struct{ multiProject, rbsDefault, annotations, deny, denyCleanup, fineLocks bool }

func (s *switches) addFlags(own *pflag.FlagSet) {
	own.BoolVar(&s.multiProject, "enable-multi-project", false, "Use the project of a Node's provider ID. Only for provider IDs that can be trusted.")
	own.BoolVar(&s.rbsDefault, "enable-rbs-default-l4-netlb", false, "Give external load balancers backend services by default.")
	own.BoolVar(&s.annotations, "enable-l4-lb-annotations", false, "Annotate Services with the cloud's objects.")
	own.BoolVar(&s.deny, "enable-l4-deny-firewall", false, "Keep a firewall rule that denies the rest. Needs --enable-l4-deny-firewall-rollback-cleanup.")
	own.BoolVar(&s.denyCleanup, "enable-l4-deny-firewall-rollback-cleanup", false, "Delete deny rules that are left.")
	own.BoolVar(&s.fineLocks, "enable-l4-ilb-fine-grained-lock", false, "Lock internal load balancers one by one.")
}

func (s *switches) newProvider(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
	if s.deny && !s.denyCleanup {
		return nil, errors.New("--enable-l4-deny-firewall needs --enable-l4-deny-firewall-rollback-cleanup")
	}
	registered, err := d.Registered()
	if err != nil {
		return nil, err
	}
	cloud, ok := registered.(*gce.Cloud)
	if !ok {
		return nil, fmt.Errorf("the provider is %T", registered)
	}
	cloud.SetProjectFromNodeProviderID(s.multiProject)
	cloud.SetEnableRBSDefaultForL4NetLB(s.rbsDefault)
	cloud.SetEnableL4LBAnnotations(s.annotations)
	cloud.SetEnableL4DenyFirewallRule(s.deny, s.denyCleanup)
	cloud.SetEnableL4ILBFineGrainedLocks(s.fineLocks)
	gce.RecordFeatureGateMetrics(s.fineLocks)
	return cloud, nil
}

package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// The lengths of Nodes' CIDRs are the same as in kube-controller-manager. The
// primary family is the first in --cluster-cidr.
func TestMasks(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"IPv4", "--cluster-cidr=10.0.0.0/8", "[{10.0.0.0/8 24}]"},
		{"IPv6", "--cluster-cidr=fd00::/48", "[{fd00::/48 64}]"},
		{"TwoFamilies", "--cluster-cidr=10.0.0.0/8,fd00::/48", "[{10.0.0.0/8 24} {fd00::/48 64}]"},
		{"IPv6First", "--cluster-cidr=fd00::/48,10.0.0.0/8", "[{fd00::/48 64} {10.0.0.0/8 24}]"},
		{"Mask", "--cluster-cidr=10.0.0.0/8 --node-cidr-mask-size=26", "[{10.0.0.0/8 26}]"},
		{"MaskOfIPv6", "--cluster-cidr=fd00::/48 --node-cidr-mask-size=60", "[{fd00::/48 60}]"},
		{"MaskOfEachFamily", "--cluster-cidr=10.0.0.0/8,fd00::/48 --node-cidr-mask-size-ipv4=20 --node-cidr-mask-size-ipv6=56", "[{10.0.0.0/8 20} {fd00::/48 56}]"},
		{"MaskOfTheOtherFamily", "--cluster-cidr=10.0.0.0/8 --node-cidr-mask-size-ipv6=56", "[{10.0.0.0/8 24}]"},
		{"NotMasked", "--cluster-cidr=10.1.2.3/8", "[{10.0.0.0/8 24}]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parsed(t, tt.args).IPAM.Config(ownership.Claim{})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(c.Families); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A manifest for the community's daemon may set --allocate-node-cidrs, which that
// daemon ignores. Here, the flag has no effect without the controller, and the log
// says so.
func TestAllocationNeedsBothFlags(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		runs, told bool
	}{
		{"Neither", "", false, false},
		{"FlagAlone", "--allocate-node-cidrs", false, true},
		{"ControllerAlone", "--controllers=*,node-ipam-controller", false, false},
		{"Both", "--allocate-node-cidrs --controllers=*,nodeipam", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := parsed(t, "--cluster-cidr=10.0.0.0/8 "+tt.args)
			if got := s.IPAM.Runs(); got != tt.runs {
				t.Errorf("runs: %v", got)
			}
			var want []Ignored
			if tt.told {
				want = []Ignored{{"--allocate-node-cidrs", "Only the controller node-ipam-controller reads it, which --controllers has to choose. Otherwise kube-controller-manager gives the CIDRs."}}
			}
			if diff := cmp.Diff(want, s.Ignored()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// If a program replaces the controller with its own, the flags of our controller are
// not added.
func TestProgramWithAnAllocatorOfItsOwn(t *testing.T) {
	p := ours
	p.Controllers = []Controller{{Name: IPAMController, Alias: "nodeipam", Source: IPAMController}}
	p.Read = map[string]string{flagAllocate: IPAMController}
	s := New(p)
	fs := flagSet(s)
	if err := fs.Parse(strings.Fields("--cloud-provider=test --allocate-node-cidrs --controllers=nodeipam")); err != nil {
		t.Fatal(err)
	}
	if fs.Lookup(flagMask) != nil {
		t.Error("its flags would exist twice")
	}
	if errs := s.IPAM.validate(); errs != nil || s.Ignored() != nil {
		t.Errorf("errors %v, warnings %v", errs, s.Ignored())
	}
}

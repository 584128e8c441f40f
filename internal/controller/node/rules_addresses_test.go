package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestWantedAddresses(t *testing.T) {
	address := func(kind corev1.NodeAddressType, ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: kind, Address: ip}
	}
	var (
		int4  = address(corev1.NodeInternalIP, "127.0.1.1")
		int6  = address(corev1.NodeInternalIP, "fd00::1")
		int4b = address(corev1.NodeInternalIP, "127.0.1.2")
		ext4  = address(corev1.NodeExternalIP, "203.0.113.1")
		dns   = address(corev1.NodeInternalDNS, "n1.internal")
		host  = address(corev1.NodeHostName, "n1")
		cloud = address(corev1.NodeHostName, "n1.cloud")
	)
	list := func(a ...corev1.NodeAddress) []corev1.NodeAddress { return a }
	for _, tt := range []struct {
		name    string
		have    []corev1.NodeAddress
		chosen  string
		offered []corev1.NodeAddress
		want    []corev1.NodeAddress
		unmet   *unmetAddress
	}{
		{name: "NoneOfferedIsNone", have: list(host)},
		{name: "NoneOfferedIsNoneWhateverTheKubeletChose", chosen: "127.0.9.9"},
		{name: "HostnameOfTheNodeIsKept", have: list(int4b, host), offered: list(int4), want: list(int4, host)},
		{name: "HostnameOfTheCloudWins", have: list(host), offered: list(int4, cloud), want: list(int4, cloud)},
		{name: "TypesAreGroupedInFirstAppearance", offered: list(int4, ext4, int6), want: list(int4, int6, ext4)},
		{name: "DuplicatesAreOne", offered: list(int4, int4, ext4), want: list(int4, ext4)},
		{name: "ChosenAddressComesFirstAndAloneInItsType", chosen: "127.0.1.2", offered: list(dns, int4, int4b, ext4), want: list(int4b, dns, ext4)},
		{name: "ChosenOrderIsTheOrderOfFamilies", chosen: "fd00::1,127.0.1.1", offered: list(int4, int6, ext4), want: list(int6, int4, ext4)},
		{
			name: "ChosenAddressMatchesEveryType", chosen: "127.0.1.1", offered: list(int4, address(corev1.NodeExternalIP, "127.0.1.1"), ext4),
			want: list(int4, address(corev1.NodeExternalIP, "127.0.1.1")),
		},
		{name: "AddressIsComparedAsAddressAndNotAsText", chosen: "fd00:0::1", offered: list(int6), want: list(int6)},
		{name: "SecondFamilyThatIsNotOffered", chosen: "127.0.1.1,fd00::9", offered: list(int4, int6), unmet: &unmetAddress{"fd00::9", true}},
		{name: "EmptyChoiceDoesNotParse", chosen: "-", offered: list(int4), unmet: &unmetAddress{"", false}},
		{name: "SpacesDoNotParse", chosen: "127.0.1.1, fd00::1", offered: list(int4, int6), unmet: &unmetAddress{"127.0.1.1, fd00::1", false}},
		{name: "TwoOfOneFamilyDoNotParse", chosen: "127.0.1.1,127.0.1.2", offered: list(int4, int4b), unmet: &unmetAddress{"127.0.1.1,127.0.1.2", false}},
		{name: "UnspecifiedOfTwoDoesNotParse", chosen: "0.0.0.0,fd00::1", offered: list(int4, int6), unmet: &unmetAddress{"0.0.0.0,fd00::1", false}},
		{name: "ThreeDoNotParse", chosen: "127.0.1.1,fd00::1,fd00::2", offered: list(int4, int6), unmet: &unmetAddress{"127.0.1.1,fd00::1,fd00::2", false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{Status: corev1.NodeStatus{Addresses: tt.have}}
			if tt.chosen != "" {
				node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": tt.chosen}
			}
			if tt.chosen == "-" {
				node.Annotations["alpha.kubernetes.io/provided-node-ip"] = ""
			}
			got, unmet := wantedAddresses(node, tt.offered)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unmet, unmet, cmp.AllowUnexported(unmetAddress{})); diff != "" {
				t.Errorf("unmet (-want +got):\n%s", diff)
			}
		})
	}
}

// A provider can mix the types of addresses in any order. A patch that would change
// nothing in the API server is never sent.
func TestMixedAddressesConverge(t *testing.T) {
	mixed := machine(func(i *instance) {
		i.addresses = []corev1.NodeAddress{internal, external, {Type: corev1.NodeInternalIP, Address: "fd00::1"}}
	})
	p := decide(observed{now: noon, node: settled(), answer: mixed})
	if p.addresses == nil {
		t.Fatal("the new address is not written")
	}
	if p := decide(observed{now: noon, node: settled(addresses(p.addresses...)), answer: mixed}); p.do != doNothing {
		t.Errorf("a Node that has what was written is to be written again: %v", p.why)
	}
}

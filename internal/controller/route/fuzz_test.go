package route

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzPodCIDR tries any text as the CIDR that a Node claims. A route is created only
// for a masked prefix that is strictly inside the cluster's CIDRs.
func FuzzPodCIDR(f *testing.F) {
	for _, seed := range []string{
		"10.244.1.0/24", "10.244.0.0/16", "0.0.0.0/0", "::/0", "10.244.1.7/24", "::ffff:10.244.1.0/120", "fd00::/64", "fe80::1%eth0/64", "10.244.1.0", "10.244.1.0/33", "", "10.0.0.0/8", "010.244.1.0/24",
	} {
		f.Add(seed)
	}
	clusters := []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00::/48")}
	o := observed{clusters: clusters}
	f.Fuzz(func(t *testing.T, text string) {
		node := &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{text}}}
		for _, cidr := range cidrsOf(node) {
			if !cidr.IsValid() || cidr != cidr.Masked() || !claims(node, cidr) {
				t.Errorf("%q is read as %v", text, cidr)
			}
			if again, err := netip.ParsePrefix(cidr.String()); err != nil || again != cidr {
				t.Errorf("%q becomes the key %q, which is %v, %v", text, cidr, again, err)
			}
			if (&index{observed: o}).rejectionOf(&entry{cidr: cidr}) != nil {
				continue
			}
			inside := false
			for _, cluster := range clusters {
				inside = inside || cluster.Overlaps(cidr) && cluster.Bits() < cidr.Bits()
			}
			if !inside {
				t.Errorf("a route is created for %q, outside of %v", text, clusters)
			}
		}
	})
}

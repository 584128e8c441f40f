package state

import (
	"fmt"
	"net/netip"
)

// Each instance and each load balancer has its own loopback address, so that
// their ports on one machine do not collide. The network 127.0.0.0/24 is left to
// other programs.
const (
	instanceAddresses block = 0  // 127.0.0.0/10
	balancerAddresses block = 64 // 127.64.0.0/10
)

// block is a quarter of all loopback addresses, 127.block.0.0/10. Its value is
// the second byte of the lowest address.
type block byte

const (
	blockNets  = 64*256 - 1 // networks of 256 addresses; the first one is not used, because 127.0.0.0/24 is left to others
	perNet     = 254        // addresses in a network, without .0 and .255, which look like mistakes
	blockTotal = blockNets * perNet
)

// address returns the n-th address. After the last address, it counts from the first
// again.
func (b block) address(n int) netip.Addr {
	n %= blockTotal
	network, host := n/perNet+1, n%perNet+1
	return netip.AddrFrom4([4]byte{127, byte(b) + byte(network/256), byte(network % 256), byte(host)}) //nolint:gosec // below 256, because n is below blockTotal
}

// free returns the first free address, beginning with the n-th.
func (b block) free(n int, taken func(netip.Addr) bool) (netip.Addr, error) {
	for i := range blockTotal {
		if ip := b.address(n + i); !taken(ip) {
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("all loopback addresses of %s are taken", b)
}

func (b block) prefix() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(b), 0, 0}), 10)
}

func (b block) has(ip netip.Addr) bool { return b.prefix().Contains(ip) }

// String returns the block in CIDR notation.
func (b block) String() string { return b.prefix().String() }

// isBalancerAddress reports whether the text is an address for load balancers.
func isBalancerAddress(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && balancerAddresses.has(ip)
}

package state

import (
	"fmt"
	"net/netip"
)

// Each instance and each load balancer has a loopback address of its own, so
// that the ports of many on one machine do not collide. 127.0.0.1 and its
// neighbours are left to other programs.
const (
	instanceAddresses block = 0  // 127.0.0.0/10
	balancerAddresses block = 64 // 127.64.0.0/10
)

// block is a quarter of all loopback addresses: those whose second byte is 0 to
// 63 above its own.
type block byte

const (
	blockNets  = 64*256 - 1 // of 256 addresses each; without the first, 127.0.0.0/24, which other programs use
	perNet     = 254        // without .0 and .255, which look like errors
	blockTotal = blockNets * perNet
)

// address returns the n-th address. After the last it begins again with the
// first.
func (b block) address(n int) netip.Addr {
	n %= blockTotal
	network, host := n/perNet+1, n%perNet+1
	return netip.AddrFrom4([4]byte{127, byte(b) + byte(network/256), byte(network % 256), byte(host)})
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

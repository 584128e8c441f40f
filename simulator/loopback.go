package simulator

import (
	"errors"
	"net/netip"
)

// Each instance has a loopback address of its own, so that the node ports of
// instances on one machine do not collide. 127.0.0.0/10 is theirs; 127.0.0.1
// and its neighbours are left to everybody else.
const (
	loopbackNets    = 64*256 - 1 // 127.0.1.0/24 to 127.63.255.0/24
	loopbackPerNet  = 254        // without .0 and .255, which look like mistakes
	loopbackInTotal = loopbackNets * loopbackPerNet
)

// loopback is the n-th address for instances, starting over after the last.
func loopback(n int) netip.Addr {
	n %= loopbackInTotal
	network, host := n/loopbackPerNet+1, n%loopbackPerNet+1
	return netip.AddrFrom4([4]byte{127, byte(network / 256), byte(network % 256), byte(host)})
}

// freeLoopback is the first address from the n-th on that is not taken.
func freeLoopback(n int, taken func(netip.Addr) bool) (netip.Addr, error) {
	for i := range loopbackInTotal {
		if ip := loopback(n + i); !taken(ip) {
			return ip, nil
		}
	}
	return netip.Addr{}, errors.New("all loopback addresses for instances are taken")
}

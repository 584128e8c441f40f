package state

import (
	"net/netip"
	"testing"
)

func TestLoopback(t *testing.T) {
	for n, want := range map[int]string{
		0: "127.0.1.1", 1: "127.0.1.2", 253: "127.0.1.254", 254: "127.0.2.1",
		255*254 - 1: "127.0.255.254", 255 * 254: "127.1.0.1",
		blockTotal - 1: "127.63.255.254", blockTotal: "127.0.1.1",
	} {
		if got := instanceAddresses.address(n).String(); got != want {
			t.Errorf("address %d is %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "127.64.1.1", 255 * 254: "127.65.0.1", blockTotal - 1: "127.127.255.254"} {
		if got := balancerAddresses.address(n).String(); got != want {
			t.Errorf("address %d of load balancers is %s, want %s", n, got, want)
		}
	}
	for text, want := range map[string]bool{"127.64.0.0": true, "127.127.255.255": true, "127.63.255.255": false, "127.128.0.0": false, "10.64.0.1": false, "x": false} {
		if got := isBalancerAddress(text); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestFreeLoopback(t *testing.T) {
	taken := func(ips ...string) func(netip.Addr) bool {
		return func(ip netip.Addr) bool {
			for _, t := range ips {
				if t == ip.String() {
					return true
				}
			}
			return false
		}
	}
	if ip, err := instanceAddresses.free(0, taken("127.0.1.1", "127.0.1.2")); err != nil || ip.String() != "127.0.1.3" {
		t.Errorf("got %v, %v: taken addresses must be skipped", ip, err)
	}
	if ip, err := instanceAddresses.free(blockTotal-1, taken("127.63.255.254")); err != nil || ip.String() != "127.0.1.1" {
		t.Errorf("got %v, %v: want the first address after the last", ip, err)
	}
	if _, err := instanceAddresses.free(5, func(netip.Addr) bool { return true }); err == nil {
		t.Error("without a free address there must be an error")
	}
}

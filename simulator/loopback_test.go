package simulator

import (
	"net/netip"
	"testing"
)

func TestLoopback(t *testing.T) {
	for n, want := range map[int]string{
		0: "127.0.1.1", 1: "127.0.1.2", 253: "127.0.1.254", 254: "127.0.2.1",
		255*254 - 1: "127.0.255.254", 255 * 254: "127.1.0.1",
		loopbackInTotal - 1: "127.63.255.254", loopbackInTotal: "127.0.1.1",
	} {
		if got := loopback(n).String(); got != want {
			t.Errorf("loopback(%d) = %s, want %s", n, got, want)
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
	if ip, err := freeLoopback(0, taken("127.0.1.1", "127.0.1.2")); err != nil || ip.String() != "127.0.1.3" {
		t.Errorf("got %v, %v: taken addresses must be skipped", ip, err)
	}
	if ip, err := freeLoopback(loopbackInTotal-1, taken("127.63.255.254")); err != nil || ip.String() != "127.0.1.1" {
		t.Errorf("got %v, %v: after the last comes the first", ip, err)
	}
	if _, err := freeLoopback(5, func(netip.Addr) bool { return true }); err == nil {
		t.Error("without a free address there must be an error")
	}
}

package forward

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func newForwarder(t *testing.T, drain time.Duration) *Forwarder {
	t.Helper()
	claims := &Claims{}
	store, err := state.New(state.Config{Clock: clock.RealClock{}, IsForeign: claims.IsForeign})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Clock: clock.RealClock{}, Store: store, Claims: claims, Enabled: true, Drain: drain})
}

// networkOf returns the network that is claimed for an address.
func networkOf(ip string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(ip), 24).Masked() }

// farAddress returns an address that other clouds on this machine are unlikely to use.
// A cloud assigns the lowest addresses of its block first. This address is far above
// those.
func farAddress() string { return fmt.Sprintf("127.%d.%d.1", 100+rand.IntN(27), rand.IntN(256)) }

func TestGivenAddressesAreClaimedUntilTheEnd(t *testing.T) {
	f := newForwarder(t, 0)
	static, err := f.config.Store.CreateStaticIP(t.Context(), wire.StaticIP{Name: "far", Address: farAddress()})
	diff(t, "error", nil, err)
	ctx, cancel := context.WithCancel(t.Context())
	wait := f.Start(ctx)
	next, err := f.config.Store.CreateStaticIP(t.Context(), wire.StaticIP{Name: "next"})
	diff(t, "error", nil, err)
	var sockets []net.Listener
	for _, ip := range []string{static.Address, next.Address} {
		f.config.Claims.mu.Lock()
		socket := f.config.Claims.made[networkOf(ip)].socket
		f.config.Claims.mu.Unlock()
		if socket == nil {
			t.Fatalf("the network of %s is not claimed", ip)
		}
		sockets = append(sockets, socket)
	}
	cancel()
	wait()
	for _, socket := range sockets {
		if err := socket.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a claim was not released: %v", err)
		}
	}
	diff(t, "claims", 0, len(f.config.Claims.made))
	diff(t, "running", false, f.IsRunning())
}

func TestNetworkThatAnotherCloudClaimedIsForeign(t *testing.T) {
	var first, second Claims
	ip := netip.MustParseAddr(farAddress())
	diff(t, "before it starts", false, second.IsForeign(t.Context(), ip))
	first.start(t.Context(), []netip.Addr{ip})
	second.start(t.Context(), nil)
	diff(t, "to the one that claimed it", false, first.IsForeign(t.Context(), ip))
	diff(t, "to another", true, second.IsForeign(t.Context(), ip.Next()))
	first.stop(t.Context())
	second.stop(t.Context())
	second.start(t.Context(), nil)
	diff(t, "after the first has ended", false, second.IsForeign(t.Context(), ip))
	second.stop(t.Context())
	diff(t, "after it stops", false, second.IsForeign(t.Context(), ip))
}

func TestDrainOfTheCloudAndOfALoadBalancer(t *testing.T) {
	f := newForwarder(t, time.Minute)
	for _, drain := range []*wire.Duration{nil, new(wire.Duration(0)), new(wire.Duration(time.Hour))} {
		l := wire.LoadBalancer{Name: fmt.Sprint(drain), Listeners: []wire.Listener{{Protocol: wire.TCP, Port: 80, BackendPort: 30080}}, Drain: drain}
		if _, err := f.config.Store.CreateLoadBalancer(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	var drains []time.Duration
	for _, w := range f.wanted() {
		drains = append(drains, w.Drain)
	}
	diff(t, "drains", []time.Duration{time.Minute, 0, time.Hour}, drains)
}
